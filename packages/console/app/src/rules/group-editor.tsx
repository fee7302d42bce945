/** Edits a group of conditions: all or any, nested groups, and what must not hold. */
import { Plus, Trash2 } from "lucide-react";
import type { KeyboardEvent, ReactNode } from "react";
import type { RuleConditions, Segment } from "../api/types.ts";
import { missingIn } from "../flag/draft/problems.ts";
import { texts } from "../texts.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { Row, Stack } from "../ui/layout.tsx";
import { useRowKeys } from "../ui/row-keys.ts";
import { Select } from "../ui/select.tsx";
import { ConditionEditor } from "./condition-editor.tsx";
import { RemoveCondition } from "./remove-condition.tsx";
import { isGroup, isSegment } from "./sentence.ts";

interface GroupEditorProps {
  readonly group: RuleConditions;
  readonly segments: readonly Segment[];
  readonly onChange: (group: RuleConditions) => void;
  readonly legend: string;
  /** Values by attribute, as offers. */
  readonly usedValues: ReadonlyMap<string, readonly string[]>;
  /** Says everything that is missing. */
  readonly isChecked: boolean;
  readonly onRemove?: () => void;
  readonly depth?: number;
}

/** The server accepts more; beyond this the form is hard to read. */
const DEEPEST = 4;
type Condition = RuleConditions["conditions"][number];
const EMPTY_CONDITION: Condition = { attribute: "", operator: "equals", value: "" };

export function GroupEditor(props: GroupEditorProps): ReactNode {
  const { group, segments, onChange, legend, usedValues, isChecked, onRemove, depth = 0 } = props;
  const { operator = "AND", conditions, not } = group;
  const rows = useRowKeys(conditions.length);
  const replace = (place: number, condition: Condition): void =>
    onChange({ ...group, conditions: conditions.with(place, condition) });
  const remove = (place: number): void => {
    rows.drop(place);
    onChange({ ...group, conditions: conditions.toSpliced(place, 1) });
  };
  const add = (condition: Condition): void => onChange({ ...group, conditions: [...conditions, condition] });
  const nested = { segments, usedValues, isChecked, depth: depth + 1 };
  const isHollow = missingIn({ conditions: [group] }).some(({ at, what }) => at === "0" && what === "group");
  const goOn = (event: KeyboardEvent<HTMLElement>): void => {
    event.preventDefault();
    const rows = [...(event.currentTarget.closest("fieldset")?.querySelectorAll(".condition") ?? [])];
    const next = rows[rows.indexOf(event.currentTarget) + 1];
    if (next === undefined) add(EMPTY_CONDITION);
    else next.querySelector("input")?.focus();
  };
  const leadOf = (place: number): ReactNode =>
    place === 0 ? (
      legend
    ) : place === 1 ? (
      <Select
        quiet
        label={texts.rules.operator}
        value={operator}
        options={[
          ["AND", texts.rules.and.trim()],
          ["OR", texts.rules.or.trim()],
        ]}
        onChange={(next) => onChange({ ...group, operator: next })}
      />
    ) : (
      (operator === "OR" ? texts.rules.or : texts.rules.and).trim()
    );
  return (
    <fieldset className={depth === 0 ? "group" : "group group-nested"}>
      <legend className="visually-hidden">{legend}</legend>
      {conditions.length === 0 && (
        <p className={isHollow && depth > 0 ? "field-error" : "hint"}>
          {legend} {depth === 0 ? texts.rules.emptyGroup : texts.draft.missing.group}
        </p>
      )}
      <Stack gap={8}>
        {conditions.map((condition, place) =>
          isGroup(condition) ? (
            <Stack gap={4} key={rows.of(place)}>
              {place > 0 && <span className="muted">{leadOf(place)}</span>}
              <GroupEditor
                {...nested}
                group={condition}
                legend={texts.rules.group}
                onChange={(next) => replace(place, next)}
                onRemove={() => remove(place)}
              />
            </Stack>
          ) : isSegment(condition) ? (
            <div className="condition" key={rows.of(place)}>
              <span className="condition-lead muted">{leadOf(place)}</span>
              <span className="condition-word">{texts.rules.segment}</span>
              <div className="condition-value">
                <Select
                  label={texts.rules.segment}
                  value={condition.segment}
                  options={segments.map(({ key, name }) => [key, name ?? key])}
                  onChange={(segment) => replace(place, { segment })}
                />
              </div>
              <RemoveCondition onRemove={() => remove(place)} />
            </div>
          ) : (
            <ConditionEditor
              key={rows.of(place)}
              condition={condition}
              lead={leadOf(place)}
              usedValues={usedValues.get(condition.attribute) ?? []}
              isChecked={isChecked}
              onChange={(next) => replace(place, next)}
              onRemove={() => remove(place)}
              onEnter={goOn}
            />
          ),
        )}
      </Stack>
      {not !== undefined && (
        <GroupEditor
          {...nested}
          group={not}
          legend={texts.rules.not}
          onChange={(next) => onChange({ ...group, not: next })}
          onRemove={() => {
            const { not: _, ...rest } = group;
            onChange(rest);
          }}
        />
      )}
      <Row gap={0} wrap>
        <Add text={texts.rules.addCondition} onClick={() => add(EMPTY_CONDITION)} />
        {segments[0] !== undefined && (
          <Add text={texts.rules.addSegment} onClick={() => add({ segment: segments[0]?.key ?? "" })} />
        )}
        {depth < DEEPEST && (
          <Add
            text={texts.rules.addGroup}
            onClick={() =>
              add({ operator: operator === "AND" ? "OR" : "AND", conditions: [EMPTY_CONDITION] })
            }
          />
        )}
        {not === undefined && depth < DEEPEST && (
          <Add
            text={texts.rules.addNot}
            onClick={() => onChange({ ...group, not: { conditions: [EMPTY_CONDITION] } })}
          />
        )}
        {onRemove && (
          <IconButton label={texts.rules.removeGroup} onClick={onRemove}>
            <Trash2 aria-hidden size={15} />
          </IconButton>
        )}
      </Row>
    </fieldset>
  );
}

function Add({ text, onClick }: { readonly text: string; readonly onClick: () => void }): ReactNode {
  return (
    <Button tone="quiet" small onClick={onClick}>
      <Plus aria-hidden size={14} /> {text}
    </Button>
  );
}
