/** The bar of a draft: what changes for whom, what is missing, what another person has done; then what was saved. */
import { Check, ChevronUp, TriangleAlert, X } from "lucide-react";
import type { ReactNode } from "react";
import { texts } from "../texts.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { Bar, Row, Stack } from "../ui/layout.tsx";
import { messageOf } from "../ui/states.tsx";
import { Value } from "../ui/value.tsx";
import { Conflicts } from "./conflicts.tsx";
import { titleOf } from "./environments.ts";
import { problemText } from "./problem-text.ts";
import type { FlagDraft } from "./use-draft.ts";
import { type DraftCount, impactIn } from "./use-draft-count.ts";
import { type Save, saveProblem, type useUndo } from "./use-save.ts";

interface DraftBarProps {
  readonly draft: FlagDraft;
  readonly counted: DraftCount;
  readonly save: Save;
  readonly undo: ReturnType<typeof useUndo>;
  readonly onSave: () => void;
  /** Opens what is not complete. */
  readonly onShow: () => void;
  /** On a phone: opens the figures. */
  readonly onFigures: () => void;
}

export function DraftBar(props: DraftBarProps): ReactNode {
  const { draft, counted, save, onSave, onShow, onFigures } = props;
  const { changes, conflicts, problems, next, stored } = draft;
  if (conflicts.length > 0) {
    return (
      <Bar label={texts.draft.unsaved} alert>
        <Conflicts draft={draft} />
      </Bar>
    );
  }
  if (changes.length === 0) return <SavedBar {...props.undo} />;
  const [problem] = problems;
  const where = whereOf(draft);
  const { plan, isCounting, error } = counted.count;
  const impact = plan && impactIn(plan, stored.flag.id, draft.environment);
  const [move] = impact?.moves ?? [];
  const failed = saveProblem(save.error);
  const isSaving = save.isPending;
  return (
    <Bar label={texts.draft.unsaved}>
      <Stack gap={0} grow>
        <span className="name">{texts.draft.changes(changes.length, where)}</span>
        <span className="caption muted" role="status">
          {problem !== undefined ? (
            <span className="bad">
              {texts.draft.problem(problemText(problem, next).subject)}{" "}
              <button type="button" className="link-button" onClick={onShow}>
                {texts.draft.show}
              </button>
            </span>
          ) : failed !== undefined ? (
            <span className="bad">{failed}</span>
          ) : error !== null ? (
            <span className="warn">
              {texts.draft.failed(messageOf(error))}{" "}
              <button type="button" className="link-button" onClick={counted.count.retry}>
                {texts.common.retry}
              </button>
            </span>
          ) : isCounting || impact === undefined || plan === undefined ? (
            texts.draft.counting
          ) : (
            <>
              <button type="button" className="link-button phone-only" onClick={onFigures}>
                {texts.draft.moves(impact.moved)} <ChevronUp aria-hidden size={13} />
              </button>
              <span className="wide-only">
                {draft.touched.length > 1 ? (
                  plan.changes
                    .filter(({ flagId }) => flagId === stored.flag.id)
                    .map(({ environment = "", moved }) => texts.draft.movesIn(moved, titleOf(environment)))
                    .join(" · ")
                ) : impact.moves.length === 1 && move !== undefined ? (
                  <>
                    <strong className="soft">{texts.impact.people(move.count)}</strong>{" "}
                    {texts.impact.goFrom(move.count)} <Value value={move.from} length={12} />{" "}
                    {texts.impact.to} <Value value={move.to} length={12} />
                  </>
                ) : impact.moved === 0 ? (
                  texts.draft.nobody
                ) : (
                  texts.draft.moves(impact.moved)
                )}
              </span>
              {plan.id !== undefined && <strong className="warn"> {texts.draft.recounted}</strong>}
            </>
          )}
        </span>
      </Stack>
      <Button tone="quiet" disabled={isSaving} onClick={() => draft.discard()}>
        {texts.draft.discard}
      </Button>
      <Button
        tone={problem === undefined ? "primary" : "plain"}
        disabled={problem !== undefined}
        busy={isSaving}
        onClick={onSave}
      >
        {texts.draft.save(changes.length, where)} <kbd>{texts.draft.saveKey}</kbd>
      </Button>
    </Bar>
  );
}

/** The environment that the draft concerns. Undefined: several, or all. */
export function whereOf({ touched, environment, changes }: FlagDraft): string | undefined {
  const [only] = touched;
  if (touched.length === 1 && only !== undefined) return titleOf(only);
  const isHere = changes.every((one) => one.kind === "field" && one.cell.environment === environment);
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
