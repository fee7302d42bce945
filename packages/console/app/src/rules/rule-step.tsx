/** One rule on the path: a sentence, and its editor when it is open. Its node is the handle for moving it. */
import { useSortable } from "@dnd-kit/sortable";
import { CSS } from "@dnd-kit/utilities";
import { ArrowDown, ArrowUp, Pencil, RotateCcw, Trash2, TriangleAlert } from "lucide-react";
import type { KeyboardEvent, ReactNode } from "react";
import type { Rule, Segment } from "../api/types.ts";
import { RULE_FIELDS } from "../flag/draft/cells.ts";
import { countsIn, settingOf, titleOf } from "../flag/environments.ts";
import { ruleName } from "../flag/names.ts";
import type { Seen } from "../flag/seen.ts";
import { SeenLine } from "../flag/seen-line.tsx";
import type { FlagDraft } from "../flag/use-draft.ts";
import { texts } from "../texts.ts";
import { Button } from "../ui/button.tsx";
import { Arrow } from "../ui/diff.tsx";
import { classes, Panel, PathStep, Row, Stack } from "../ui/layout.tsx";
import { Menu } from "../ui/menu.tsx";
import { Switch } from "../ui/switch.tsx";
import { isTyping } from "../ui/typing.ts";
import { Value } from "../ui/value.tsx";
import { RuleEditor } from "./rule-editor.tsx";
import { SentenceView } from "./sentence-view.tsx";

interface RuleStepProps {
  readonly draft: FlagDraft;
  readonly rule: Rule;
  readonly place: number;
  readonly segments: readonly Segment[];
  /** How many people it decides. */
  readonly people: number | undefined;
  readonly isOpen: boolean;
  readonly isChecked: boolean;
  readonly deadBecause: string | undefined;
  readonly seen: Seen | undefined;
  readonly onOpen: (isOpen: boolean) => void;
  readonly onLeave: () => void;
  readonly onMove: (to: number) => void;
}

export function RuleStep(props: RuleStepProps): ReactNode {
  const { draft, rule, place, segments, people, isOpen, deadBecause, seen, onMove, onLeave } = props;
  const { environment, isReadOnly, next } = draft;
  const { attributes, listeners, setNodeRef, setActivatorNodeRef, transform, transition } = useSortable({
    id: rule.id,
    disabled: isReadOnly,
  });
  const isDeleted = draft.draft.isDeleted(rule.id);
  const isNew = draft.draft.isNew(rule.id);
  const cells = RULE_FIELDS.map((field) => ({ rule: rule.id, field }));
  const isEdited = isNew || isDeleted || draft.draft.isEdited(...cells);
  const isHere = countsIn(rule, environment);
  const isOff = !rule.enabled || !isHere || settingOf(next.flag, environment, "enabled").value !== true;
  const label = ruleName(next, rule.id);
  const variant = next.flag.variants?.findIndex(({ key }) => key === rule.variant) ?? -1;
  const value = rule.value ?? next.flag.variants?.[variant]?.value;
  const onOpen = (isNext: boolean): void => {
    if (!isNext) onLeave();
    props.onOpen(isNext);
  };
  const press = (event: KeyboardEvent): void => {
    const step = event.altKey ? { ArrowUp: -1, ArrowDown: 1 }[event.key] : undefined;
    if (step !== undefined && !isReadOnly) onMove(place + step);
    else if (event.key === "e" && !isTyping(event.target)) onOpen(!isOpen);
    else if (event.key === "Escape" && isOpen) onOpen(false);
    else return;
    event.preventDefault();
  };
  return (
    <PathStep
      ref={setNodeRef}
      style={{ transform: CSS.Translate.toString(transform), transition }}
      state={seen?.stateOf(rule.id) ?? (isEdited ? "edited" : undefined)}
      isOff={isOff || isDeleted}
      node={
        <button
          type="button"
          className="path-node path-handle"
          ref={setActivatorNodeRef}
          {...attributes}
          {...listeners}
          disabled={isReadOnly}
          aria-label={texts.rules.drag(label, place + 1)}
        >
          <span aria-hidden="true">{seen?.markOf(rule.id) ?? place + 1}</span>
        </button>
      }
    >
      <Panel tone={isEdited ? "edited" : undefined} className="card">
        {/* biome-ignore lint/a11y/noStaticElementInteractions: shortcuts of everything inside */}
        <div
          onKeyDown={press}
          onBlur={({ currentTarget, relatedTarget }) => currentTarget.contains(relatedTarget) || onLeave()}
          data-rule={rule.id}
        >
          <Row>
            <h3 className="grow">
              <button
                type="button"
                className="card-title cut"
                aria-expanded={isOpen}
                disabled={isReadOnly || isDeleted}
                onClick={() => onOpen(!isOpen)}
              >
                {label}
              </button>
            </h3>
            <span className="caption muted wide-only">{placesOf(rule, environment)}</span>
            {isEdited && (
              <span className="tag tag-accent">
                {isDeleted ? texts.rules.willDelete : isNew ? texts.rules.new : texts.targeting.edited}
              </span>
            )}
            <span className="caption muted number card-count">
              {people !== undefined && isHere && !isDeleted && texts.targeting.people(people)}
            </span>
            {isDeleted ? (
              <Button
                small
                disabled={isReadOnly}
                onClick={() => draft.change((now) => now.restoreRule(rule.id))}
              >
                <RotateCcw aria-hidden size={14} /> {texts.rules.restore}
              </Button>
            ) : (
              <Switch
                checked={rule.enabled}
                disabled={isReadOnly}
                label={texts.rules.switchOf(label)}
                onChange={(enabled) => draft.set({ rule: rule.id, field: "enabled" }, enabled)}
              />
            )}
            {!isReadOnly && !isDeleted && (
              <Menu
                label={texts.rules.actionsFor(label)}
                items={[
                  {
                    label: isOpen ? texts.rules.close : texts.rules.edit(label),
                    icon: <Pencil aria-hidden size={15} />,
                    onSelect: () => onOpen(!isOpen),
                  },
                  {
                    label: texts.rules.up(label),
                    icon: <ArrowUp aria-hidden size={15} />,
                    onSelect: () => onMove(place - 1),
                  },
                  {
                    label: texts.rules.down(label),
                    icon: <ArrowDown aria-hidden size={15} />,
                    onSelect: () => onMove(place + 1),
                  },
                  {
                    label: texts.rules.delete(label),
                    icon: <Trash2 aria-hidden size={15} />,
                    isDangerous: true,
                    onSelect: () => draft.change((now) => now.deleteRule(rule.id)),
                  },
                ]}
              />
            )}
          </Row>
          {isOpen && !isDeleted ? (
            <RuleEditor draft={draft} rule={rule} segments={segments} isChecked={props.isChecked} />
          ) : (
            <p className={classes("soft sentence", isDeleted && "struck")}>
              <SentenceView
                conditions={rule.conditions}
                names={(key) => segments.find((segment) => segment.key === key)?.name}
              />{" "}
              <Arrow /> <Value value={value} {...(variant >= 0 && { variant })} />
              {rule.percentage !== undefined && ` ${texts.rules.forShare(rule.percentage)}`}
            </p>
          )}
          {deadBecause !== undefined && (
            <Row className="caption warn">
              <TriangleAlert aria-hidden size={14} /> {deadBecause}
            </Row>
          )}
          {seen && (
            <Stack gap={4}>
              <SeenLine step={seen.stepOf(rule.id)} />
            </Stack>
          )}
        </div>
      </Panel>
    </PathStep>
  );
}

function placesOf(rule: Rule, environment: string | undefined): string {
  if (rule.environments === undefined) return texts.targeting.all;
  if (environment !== undefined && !countsIn(rule, environment))
    return texts.rules.notHere(titleOf(environment));
  return texts.rules.only(rule.environments.map(titleOf));
}
