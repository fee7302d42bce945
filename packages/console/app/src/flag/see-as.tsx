/** Chooses the person whose way through the steps is shown, and says what the person gets. */
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { FeatureFlagPlan, Person } from "../api/types.ts";
import { PersonPicker } from "../people/person-picker.tsx";
import { useMay } from "../shell/session.tsx";
import { texts } from "../texts.ts";
import { Stack } from "../ui/layout.tsx";
import { Value } from "../ui/value.tsx";
import type { Seen } from "./seen.ts";
import { impactIn } from "./use-count.ts";
import type { FlagDraft } from "./use-draft.ts";

interface SeeAsProps {
  readonly draft: FlagDraft;
  readonly seen: Seen | undefined;
  readonly plan: FeatureFlagPlan | undefined;
  readonly onChange: (person: Person | undefined) => void;
}

export function SeeAs({ draft, seen, plan, onChange }: SeeAsProps): ReactNode {
  const may = useMay();
  if (!may("evaluate-as")) return null;
  const { flag } = draft.next;
  const impact =
    draft.draft.changes.length > 0 && plan ? impactIn(plan, flag.id, draft.environment) : undefined;
  const moved = impact?.examples.find(({ userId }) => userId === seen?.person.id);
  return (
    <section className="see-as line-above" aria-label={texts.draft.seeAs}>
      <Stack>
        <h2>{texts.draft.seeAs}</h2>
        <PersonPicker person={seen?.person} onChange={onChange} />
        {seen === undefined ? (
          <p className="caption muted">{texts.draft.seeAsWhat}</p>
        ) : (
          seen.result && (
            <p className="caption soft" role="status">
              {texts.draft.gets} <Value value={seen.result.value} />{" "}
              {moved ? (
                <>
                  {texts.draft.andIfYouSave} <Value value={moved.to} /> {texts.draft.ifSaved}
                </>
              ) : (
                `${texts.draft.getsNowWord}.`
              )}{" "}
              {seen.result.reason === "override" && texts.draft.byOverride}{" "}
              <Link
                to="/explain"
                search={{
                  flag: flag.key,
                  user: seen.person.id,
                  ...(draft.environment !== undefined && { environment: draft.environment }),
                }}
              >
                {texts.draft.explain}
              </Link>
            </p>
          )
        )}
      </Stack>
    </section>
  );
}
