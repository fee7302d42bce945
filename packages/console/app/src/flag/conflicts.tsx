/** What another person saved of the same fields, beside what this person changed. One of both is chosen for each. */
import { TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { useLastEntries } from "../flags/last-actors.ts";
import { actorName } from "../history/actor.tsx";
import { DifferenceLine } from "../history/differences.tsx";
import { texts } from "../texts.ts";
import { Button } from "../ui/button.tsx";
import { Grid, Row, Stack } from "../ui/layout.tsx";
import type { Cell, Stored } from "./draft/cells.ts";
import type { Conflict } from "./draft/merge.ts";
import { titleOf } from "./environments.ts";
import { ruleName } from "./names.ts";
import type { FlagDraft } from "./use-draft.ts";

export function Conflicts({ draft }: { readonly draft: FlagDraft }): ReactNode {
  const { stored, conflicts } = draft.draft;
  const entry = useLastEntries().get(stored.flag.id);
  return (
    <Stack gap={12} grow>
      <Row>
        <TriangleAlert aria-hidden size={16} className="warn" />
        <span className="grow">
          {entry ? (
            <>
              <strong>{actorName(entry)}</strong> {texts.draft.conflictBy}
            </>
          ) : (
            texts.draft.conflict
          )}
        </span>
        <Button tone="quiet" onClick={() => draft.discard()}>
          {texts.draft.discard}
        </Button>
      </Row>
      {conflicts.map((conflict) => {
        const { name, theirs, yours } = sidesOf(conflict, stored);
        const choose = (isMine: boolean): void => draft.change((now) => now.choose(conflict, isMine));
        return (
          <Stack gap={4} key={JSON.stringify(conflict)}>
            <span className="caption muted">{name}</span>
            <Grid wide>
              <button type="button" className="choice" onClick={() => choose(false)}>
                <span className="caption muted">{texts.draft.theirs}</span>
                {theirs}
              </button>
              <button type="button" className="choice" onClick={() => choose(true)}>
                <span className="caption muted">{texts.draft.yours}</span>
                {yours}
              </button>
            </Grid>
          </Stack>
        );
      })}
    </Stack>
  );
}

interface Sides {
  readonly name: string;
  readonly theirs: ReactNode;
  readonly yours: ReactNode;
}

function sidesOf(conflict: Conflict, stored: Stored): Sides {
  const nameOf = (id: string): string => ruleName(stored, id);
  switch (conflict.kind) {
    case "field": {
      const { cell, base, theirs, yours } = conflict;
      const { field, environment } = cell;
      const path = environment === undefined ? field : `environments.${environment}.${field}`;
      return {
        name: cellName(cell, nameOf),
        theirs: <DifferenceLine bare path={path} before={base} after={theirs} />,
        yours: <DifferenceLine bare path={path} before={base} after={yours} />,
      };
    }
    case "gone":
      return {
        name: conflict.rule.name ?? texts.rules.rule,
        theirs: `${texts.draft.gone}. ${texts.draft.keepDeleted}`,
        yours: texts.draft.addAgain,
      };
    case "changed":
      return {
        name: nameOf(conflict.rule.id),
        theirs: `${texts.draft.ruleChanged}. ${texts.draft.keepRule}`,
        yours: texts.draft.deleteAnyway,
      };
    case "order": {
      const inWords = (ids: readonly string[]): string =>
        ids
          .filter((id) => stored.rules.some((rule) => rule.id === id))
          .map(nameOf)
          .join(", ");
      return { name: texts.draft.order, theirs: inWords(conflict.theirs), yours: inWords(conflict.yours) };
    }
  }
}

function cellName({ field, environment, rule }: Cell, nameOf: (id: string) => string): string {
  const name = texts.fields[field] ?? field;
  const whole = name.charAt(0).toUpperCase() + name.slice(1);
  if (rule !== undefined) return `${nameOf(rule)}: ${name}`;
  return environment === undefined ? whole : `${whole}, ${titleOf(environment)}`;
}
