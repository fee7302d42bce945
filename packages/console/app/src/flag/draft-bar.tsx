/** The bar of a draft: what changes for whom, what is missing, what another person has done; then what was saved. */
import { Check, ChevronUp, TriangleAlert, X } from "lucide-react";
import type { ReactNode } from "react";
import { texts } from "../texts.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { Bar, Row, Stack } from "../ui/layout.tsx";
import { messageOf } from "../ui/states.tsx";
import { Conflicts } from "./conflicts.tsx";
import type { Problem } from "./draft/problems.ts";
import { titleOf } from "./environments.ts";
import { Counted, Move } from "./impact.tsx";
import { subjectOf } from "./names.ts";
import { type DraftCount, impactIn } from "./use-count.ts";
import type { FlagDraft } from "./use-draft.ts";
import { type Save, saveProblem, type useUndo } from "./use-save.ts";

interface DraftBarProps {
  readonly draft: FlagDraft;
  readonly counted: DraftCount;
  readonly save: Save;
  readonly undo: ReturnType<typeof useUndo>;
  /** Whether the person has left it, or has asked for what is missing. */
  readonly isShown: (problem: Problem) => boolean;
  readonly onSave: () => void;
  /** Opens what is not complete. */
  readonly onShow: () => void;
  /** On a phone: opens the figures. */
  readonly onFigures: () => void;
}

export function DraftBar({ draft, save, undo, onSave, ...rest }: DraftBarProps): ReactNode {
  const { changes, conflicts, problems } = draft.draft;
  if (conflicts.length > 0) {
    return (
      <Bar label={texts.draft.unsaved} alert>
        <Conflicts draft={draft} />
      </Bar>
    );
  }
  if (changes.length === 0) return <SavedBar {...undo} />;
  const where = whereOf(draft);
  return (
    <Bar label={texts.draft.unsaved}>
      <Stack gap={0} grow>
        <span className="name">{texts.draft.changes(changes.length, where)}</span>
        <span className="caption muted" role="status">
          <Status draft={draft} failed={saveProblem(save.error)} {...rest} />
        </span>
      </Stack>
      <Button tone="quiet" disabled={save.isPending} onClick={() => draft.discard()}>
        {texts.draft.discard}
      </Button>
      <Button tone={problems.length === 0 ? "primary" : "plain"} busy={save.isPending} onClick={onSave}>
        {texts.draft.save(changes.length, where)} <kbd>{texts.draft.saveKey}</kbd>
      </Button>
    </Bar>
  );
}

interface StatusProps extends Pick<DraftBarProps, "draft" | "counted" | "isShown" | "onShow" | "onFigures"> {
  readonly failed: string | undefined;
}

function Status({ draft, counted: { count }, failed, isShown, onShow, onFigures }: StatusProps): ReactNode {
  const [problem] = draft.draft.problems;
  if (problem !== undefined && !isShown(problem)) return texts.draft.notCounted;
  if (problem !== undefined) {
    return (
      <span className="bad">
        {texts.draft.problem(subjectOf(problem, draft.next))}{" "}
        <button type="button" className="link-button" onClick={onShow}>
          {texts.draft.show}
        </button>
      </span>
    );
  }
  if (failed !== undefined) return <span className="bad">{failed}</span>;
  const { id } = draft.next.flag;
  return (
    <Counted count={count.isCounting ? { ...count, plan: undefined } : count}>
      {(plan) => {
        const { moved, moves = [] } = impactIn(plan, id, draft.environment) ?? { moved: 0 };
        const [move] = moves;
        return (
          <>
            <button type="button" className="link-button phone-only" onClick={onFigures}>
              {texts.draft.moves(moved)} <ChevronUp aria-hidden size={13} />
            </button>
            <span className="wide-only">
              {draft.touched.length > 1 ? (
                plan.changes
                  .filter(({ flagId }) => flagId === id)
                  .map(({ environment = "", moved }) => texts.draft.movesIn(moved, titleOf(environment)))
                  .join(" · ")
              ) : moves.length === 1 && move !== undefined ? (
                <Move {...move} length={12} />
              ) : moved === 0 ? (
                texts.draft.nobody
              ) : (
                texts.draft.moves(moved)
              )}
            </span>
            {plan.id !== undefined && <strong className="warn"> {texts.draft.recounted}</strong>}
          </>
        );
      }}
    </Counted>
  );
}

/** The environment that the draft concerns. Undefined: several, or all. */
export function whereOf({ draft, touched, environment }: FlagDraft): string | undefined {
  const [only] = touched;
  if (touched.length === 1 && only !== undefined) return titleOf(only);
  const isHere = draft.changes.every((one) => one.kind === "field" && one.cell.environment === environment);
  return touched.length === 0 && isHere && environment !== undefined ? titleOf(environment) : undefined;
}

function SavedBar({ done, undo, refused, dismiss }: ReturnType<typeof useUndo>): ReactNode {
  if (done === undefined) return null;
  const { where, moved, changeId } = done;
  return (
    <Bar label={texts.draft.saved(where)}>
      {refused === undefined ? (
        <Check aria-hidden size={16} className="good" />
      ) : (
        <TriangleAlert aria-hidden size={16} className="warn" />
      )}
      <Stack gap={0} grow>
        <span className="name">{texts.draft.saved(where)}</span>
        <span className="caption muted" role="status">
          {refused !== undefined
            ? `${texts.draft.undoRefused} ${messageOf(refused)}`
            : moved === undefined
              ? texts.draft.uncounted
              : texts.draft.moved(moved)}
        </span>
      </Stack>
      <Row>
        {changeId !== undefined && refused === undefined && (
          <Button busy={undo.isPending} onClick={() => undo.mutate(changeId)}>
            {texts.common.undo} <kbd>{texts.draft.undoKey}</kbd>
          </Button>
        )}
        <IconButton label={texts.common.dismiss} onClick={dismiss}>
          <X aria-hidden size={16} />
        </IconButton>
      </Row>
    </Bar>
  );
}
