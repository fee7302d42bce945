/** Differences, one on each line. A rule is two sentences in which the words that differ are marked. */
import type { ReactNode } from "react";
import { texts } from "../texts.ts";
import { Diff, WordDiff } from "../ui/diff.tsx";
import { Stack } from "../ui/layout.tsx";
import type { Difference } from "./difference.ts";
import { fieldLabel, fieldText } from "./entry-text.ts";

export function Differences({ list }: { list: readonly Difference[] }): ReactNode {
  if (list.length === 0) return <p className="muted">{texts.history.noDifference}</p>;
  return (
    <Stack gap={4} className="wrap-anywhere">
      {list.map((difference) => (
        <DifferenceLine key={difference.path} {...difference} />
      ))}
    </Stack>
  );
}

/** `bare`: without the name of the field, which stands before it. */
export function DifferenceLine({
  path,
  before,
  after,
  bare = false,
}: Difference & { readonly bare?: boolean }): ReactNode {
  // What an environment does not set, the flag does.
  const inherited = path.startsWith("environments.") ? texts.history.ofFlag : undefined;
  const [old, now] = [before, after].map((value) =>
    value === undefined ? inherited : fieldText(path, value),
  );
  const isSentence = path.startsWith("conditions") && old !== undefined && now !== undefined;
  if (isSentence) return <WordDiff before={old} after={now} />;
  return (
    <Diff
      {...(!bare && { label: fieldLabel(path) })}
      {...(old !== undefined && { before: short(old) })}
      {...(now !== undefined && { after: short(now) })}
    />
  );
}

const LONGEST = 160;

function short(text: string): string {
  return text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text;
}
