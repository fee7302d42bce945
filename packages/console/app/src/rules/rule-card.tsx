/** One rule: its sentence, what matching users get, and its controls. */
import { useSortable } from "@dnd-kit/sortable";
import { CSS } from "@dnd-kit/utilities";
import { ArrowDown, ArrowUp, GripVertical, Pencil, Trash2, TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import type { Flag, Rule } from "../api/types.ts";
import { texts } from "../texts.ts";
import { Switch } from "../ui/switch.tsx";
import { Value } from "../ui/value.tsx";
import { type SegmentNames, sentenceOf } from "./sentence.ts";

interface RuleCardProps {
  readonly flag: Flag;
  readonly rule: Rule;
  readonly place: number;
  readonly count: number;
  readonly segmentName: SegmentNames;
  readonly deadBecause: string | undefined;
  readonly disabled: boolean;
  readonly onEdit: () => void;
  readonly onMove: (to: number) => void;
  readonly onSwitch: (enabled: boolean) => void;
  readonly onDelete: () => void;
}

export function RuleCard(props: RuleCardProps): ReactNode {
  const { flag, rule, place, count, segmentName, deadBecause, disabled } = props;
  const { attributes, listeners, setNodeRef, setActivatorNodeRef, transform, transition } = useSortable({
    id: rule.id,
  });
  const label = rule.name ?? texts.rules.numbered(place + 1);
  const value = rule.value ?? flag.variants?.find(({ key }) => key === rule.variant)?.value;
  return (
    <li
      ref={setNodeRef}
      className={rule.enabled ? "rule" : "rule rule-off"}
      style={{ transform: CSS.Translate.toString(transform), transition }}
    >
      <div className="rule-order">
        {!disabled && (
          <button
            type="button"
            className="icon-button drag"
            ref={setActivatorNodeRef}
            {...attributes}
            {...listeners}
            aria-label={texts.rules.drag(label)}
          >
            <GripVertical aria-hidden size={16} />
          </button>
        )}
        <span className="rule-number">{place + 1}</span>
      </div>
      <div className="rule-text">
        {rule.name !== undefined && <p className="rule-name">{rule.name}</p>}
        <p>
          <span className="rule-word">{texts.rules.if}</span> {sentenceOf(rule.conditions, segmentName)}
        </p>
        <p>
          <span className="rule-word">{texts.rules.serve}</span> <Value value={value} />
          {rule.variant !== undefined && <span className="badge">{rule.variant}</span>}
          {rule.percentage !== undefined && <span> {texts.rules.forShare(rule.percentage)}</span>}
        </p>
        {deadBecause !== undefined && (
          <p className="rule-dead">
            <TriangleAlert aria-hidden size={15} /> {deadBecause}
          </p>
        )}
      </div>
      <div className="rule-controls">
        <Switch
          checked={rule.enabled}
          onChange={props.onSwitch}
          disabled={disabled}
          label={texts.rules.switchOf(label)}
        />
        <button
          type="button"
          className="icon-button"
          aria-label={texts.rules.up(label)}
          disabled={disabled || place === 0}
          onClick={() => props.onMove(place - 1)}
        >
          <ArrowUp aria-hidden size={16} />
        </button>
        <button
          type="button"
          className="icon-button"
          aria-label={texts.rules.down(label)}
          disabled={disabled || place === count - 1}
          onClick={() => props.onMove(place + 1)}
        >
          <ArrowDown aria-hidden size={16} />
        </button>
        <button
          type="button"
          className="icon-button"
          aria-label={texts.rules.edit(label)}
          disabled={disabled}
          onClick={props.onEdit}
        >
          <Pencil aria-hidden size={16} />
        </button>
        <button
          type="button"
          className="icon-button"
          aria-label={texts.rules.delete(label)}
          disabled={disabled}
          onClick={props.onDelete}
        >
          <Trash2 aria-hidden size={16} />
        </button>
      </div>
    </li>
  );
}
