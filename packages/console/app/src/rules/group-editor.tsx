/** Edits a group of conditions: all or any, nested groups, and what must not hold. */
import { Ban, FolderPlus, Plus, Shapes, Trash2 } from "lucide-react";
import type { ReactNode } from "react";
import type { RuleConditions, Segment } from "../api/types.ts";
import { texts } from "../texts.ts";
import { ConditionEditor } from "./condition-editor.tsx";
import { RemoveCondition } from "./remove-condition.tsx";
import { isGroup, isSegment } from "./sentence.ts";

interface GroupEditorProps {
  readonly group: RuleConditions;
  readonly segments: readonly Segment[];
  readonly onChange: (group: RuleConditions) => void;
  readonly legend: string;
  readonly onRemove?: () => void;
  readonly depth?: number;
}

/** The server accepts more; beyond this the form is hard to read. */
const DEEPEST = 4;

export function GroupEditor({
  group,
  segments,
  onChange,
  legend,
  onRemove,
  depth = 0,
}: GroupEditorProps): ReactNode {
  const { operator = "AND", conditions, not } = group;
  type Condition = (typeof conditions)[number];
  const replace = (place: number, condition: Condition | undefined): void =>
    onChange({
      ...group,
      conditions: conditions.flatMap((one, index) =>
        index !== place ? [one] : condition === undefined ? [] : [condition],
      ),
    });
  const add = (condition: Condition): void => onChange({ ...group, conditions: [...conditions, condition] });
  const [firstSegment] = segments;
  return (
    <fieldset className={`group group-${depth % 3}`}>
      <legend className="group-legend">
        {legend}
        <select
          aria-label={texts.rules.operator}
          value={operator}
          onChange={({ target }) => onChange({ ...group, operator: target.value === "OR" ? "OR" : "AND" })}
        >
          <option value="AND">{texts.rules.all}</option>
          <option value="OR">{texts.rules.any}</option>
        </select>
        {onRemove && (
          <button
            type="button"
            className="icon-button"
            aria-label={texts.rules.removeGroup}
            onClick={onRemove}
          >
            <Trash2 aria-hidden size={15} />
          </button>
        )}
      </legend>
      {conditions.length === 0 && <p className="hint">{texts.rules.emptyGroup}</p>}
      <ul className="conditions">
        {conditions.map((condition, place) => (
          // Conditions have no identity of their own.
          // biome-ignore lint/suspicious/noArrayIndexKey: see above
          <li key={place}>
            {isGroup(condition) ? (
              <GroupEditor
                group={condition}
                segments={segments}
                legend={texts.rules.group}
                depth={depth + 1}
                onChange={(next) => replace(place, next)}
                onRemove={() => replace(place, undefined)}
              />
            ) : isSegment(condition) ? (
              <div className="condition">
                <span className="condition-word">{texts.rules.segment}</span>
                <select
                  aria-label={texts.rules.segment}
                  value={condition.segment}
                  onChange={({ target }) => replace(place, { segment: target.value })}
                >
                  {segments.map(({ key, name }) => (
                    <option key={key} value={key}>
                      {name ?? key}
                    </option>
                  ))}
                </select>
                <RemoveCondition onRemove={() => replace(place, undefined)} />
              </div>
            ) : (
              <ConditionEditor
                condition={condition}
                onChange={(next) => replace(place, next)}
                onRemove={() => replace(place, undefined)}
              />
            )}
          </li>
        ))}
      </ul>
      <div className="row">
        <button
          type="button"
          className="button button-quiet"
          onClick={() => add({ attribute: "", operator: "equals", value: "" })}
        >
          <Plus aria-hidden size={15} /> {texts.rules.addCondition}
        </button>
        {firstSegment !== undefined && (
          <button
            type="button"
            className="button button-quiet"
            onClick={() => add({ segment: firstSegment.key })}
          >
            <Shapes aria-hidden size={15} /> {texts.rules.addSegment}
          </button>
        )}
        {depth < DEEPEST && (
          <button
            type="button"
            className="button button-quiet"
            onClick={() => add({ operator: operator === "AND" ? "OR" : "AND", conditions: [] })}
          >
            <FolderPlus aria-hidden size={15} /> {texts.rules.addGroup}
          </button>
        )}
        {not === undefined && depth < DEEPEST && (
          <button
            type="button"
            className="button button-quiet"
            onClick={() => onChange({ ...group, not: { conditions: [] } })}
          >
            <Ban aria-hidden size={15} /> {texts.rules.addNot}
          </button>
        )}
      </div>
      {not !== undefined && (
        <GroupEditor
          group={not}
          segments={segments}
          legend={texts.rules.not}
          depth={depth + 1}
          onChange={(next) => onChange({ ...group, not: next })}
          onRemove={() => {
            const { not: _, ...rest } = group;
            onChange(rest);
          }}
        />
      )}
    </fieldset>
  );
}
