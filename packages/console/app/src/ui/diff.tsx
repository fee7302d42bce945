/** What a change did, on one line: "Rollout 26% → 40%". Signs and hidden words say it without colour, too. */
import { ArrowRight } from "lucide-react";
import type { ReactNode } from "react";
import { texts } from "../texts.ts";
import { keyed } from "./row-keys.ts";

interface DiffProps {
  readonly label?: string;
  /** Undefined: there was none. */
  readonly before?: ReactNode;
  /** Undefined: it is gone. */
  readonly after?: ReactNode;
}

export function Diff({ label, before, after }: DiffProps): ReactNode {
  return (
    <span>
      {label !== undefined && <span className="soft">{label} </span>}
      {before !== undefined && (
        <del className={after === undefined ? "old" : "muted"}>
          <span className="visually-hidden">{texts.history.before}</span>
          {before}
        </del>
      )}
      {before !== undefined && after !== undefined && <Arrow />}
      {after !== undefined && (
        <ins className={before === undefined ? "new" : "name"}>
          <span className="visually-hidden">{texts.history.after}</span>
          {after}
        </ins>
      )}
    </span>
  );
}

/** Geist has no arrow. */
export function Arrow(): ReactNode {
  return <ArrowRight aria-hidden size={13} className="arrow" />;
}

/** Two sentences of one thing. The words that differ are marked in each. */
export function WordDiff({ before, after }: { readonly before: string; readonly after: string }): ReactNode {
  const [old, now] = [wordsOf(before), wordsOf(after)];
  const kept = commonWords(old, now);
  return (
    <span className="word-diff">
      <del>
        <span className="visually-hidden">{texts.history.before}</span>
        <Marked words={old} kept={kept} name="old" />
      </del>
      <Arrow />
      <ins>
        <span className="visually-hidden">{texts.history.after}</span>
        <Marked words={now} kept={kept} name="new" />
      </ins>
    </span>
  );
}

function Marked({ words, kept, name }: { words: string[]; kept: string[]; name: string }): ReactNode {
  let next = 0;
  return keyed(words, String).map(([key, word]) => {
    const isKept = word === kept[next];
    if (isKept) next += 1;
    return (
      <span key={key}>
        <span className={isKept ? undefined : name}>{word}</span>{" "}
      </span>
    );
  });
}

/** Words with their quotes. */
function wordsOf(sentence: string): string[] {
  return sentence.match(/"(?:[^"\\]|\\.)*"|\S+/g) ?? [];
}

/** More words are compared by their place only. */
const MOST_WORDS = 200;

/** The longest list of words that both have in the same order. */
export function commonWords(one: readonly string[], other: readonly string[]): string[] {
  if (one.length > MOST_WORDS || other.length > MOST_WORDS)
    return one.filter((word, at) => word === other[at]);
  let row: string[][] = other.map(() => []);
  for (const word of one) {
    const above = row;
    row = [];
    for (const [at, candidate] of other.entries()) {
      const [left = [], up = [], corner = []] = [row[at - 1], above[at], above[at - 1]];
      row.push(word === candidate ? [...corner, word] : up.length >= left.length ? up : left);
    }
  }
  return row.at(-1) ?? [];
}
