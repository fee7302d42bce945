/** The open rule: its conditions, what matching people get, and where it counts. */
import type { ReactNode } from "react";
import type { JsonValue, Rule, RuleConditions, Segment } from "../api/types.ts";
import { type RuleField, readCell } from "../flag/draft/cells.ts";
import { titleOf } from "../flag/environments.ts";
import type { FlagDraft } from "../flag/use-draft.ts";
import { texts } from "../texts.ts";
import { Field } from "../ui/field.tsx";
import { Row, Stack } from "../ui/layout.tsx";
import { NumberInput } from "../ui/number-input.tsx";
import { Select } from "../ui/select.tsx";
import { EMPTY_VALUES, ValueInput } from "../ui/value-input.tsx";
import { GroupEditor } from "./group-editor.tsx";
import { isGroup, isSegment } from "./sentence.ts";

interface RuleEditorProps {
  readonly draft: FlagDraft;
  readonly rule: Rule;
  readonly segments: readonly Segment[];
  readonly isChecked: boolean;
}

export function RuleEditor({ draft, rule, segments, isChecked }: RuleEditorProps): ReactNode {
  const { flag, rules } = draft.next;
  const { isReadOnly } = draft;
  const variants = flag.variants ?? [];
  const set = (field: RuleField, value: JsonValue | undefined): void =>
    draft.set({ rule: rule.id, field }, value);
  const before = readCell(draft.draft.stored, { rule: rule.id, field: "percentage" });
  const serve = (variant: string): void => {
    set("variant", variant === "" ? undefined : variant);
    set("value", variant === "" ? (rule.value ?? EMPTY_VALUES[flag.type]) : undefined);
  };
  const problem = draft.draft.problems.find((one) => one.rule === rule.id && one.at === "");
  return (
    <Stack gap={12} className="rule-editor">
      <GroupEditor
        group={rule.conditions}
        segments={segments}
        legend={texts.rules.if}
        usedValues={usedValuesOf([...rules, ...segments].map(({ conditions }) => conditions))}
        isChecked={isChecked}
        onChange={(conditions) => set("conditions", conditions)}
      />
      <Row wrap className="line-above">
        <span className="muted">{texts.rules.serve}</span>
        {variants.length > 0 && (
          <Select
            label={texts.rules.variant}
            value={rule.variant ?? ""}
            disabled={isReadOnly || (flag.type === "json" && rule.value !== undefined)}
            options={[["", texts.rules.ownValue], ...variants.map(({ key }) => [key, key] as const)]}
            onChange={serve}
          />
        )}
        {rule.variant === undefined && (
          <div className={flag.type === "json" ? "grow" : "fit"}>
            <ValueInput
              type={flag.type}
              label={texts.rules.value}
              value={rule.value}
              disabled={isReadOnly}
              onChange={(value) => set("value", value)}
            />
          </div>
        )}
        <span className="muted">{texts.rules.to}</span>
        <NumberInput
          label={texts.rules.share}
          unit="%"
          placeholder="100"
          value={rule.percentage}
          disabled={isReadOnly}
          onChange={(percentage) => set("percentage", percentage)}
        />
        <span className="muted">{texts.rules.ofThem}</span>
        {before !== undefined && before !== rule.percentage && (
          <span className="caption muted">{texts.targeting.was(`${before}%`)}</span>
        )}
      </Row>
      {problem !== undefined && problem.what !== "name" && (
        <p className="field-error" role="alert">
          {problem.what === "variant"
            ? texts.draft.missing.removedVariant
            : texts.draft.missing[problem.what]}
        </p>
      )}
      <Row wrap gap={16} align="start">
        <Field label={texts.rules.name}>
          <input
            size={32}
            value={rule.name ?? ""}
            maxLength={255}
            disabled={isReadOnly}
            placeholder={texts.rules.nameHint}
            onChange={({ target }) => set("name", target.value === "" ? undefined : target.value)}
          />
        </Field>
        {draft.environments.length > 1 && (
          <Environments draft={draft} rule={rule} set={(names) => set("environments", names)} />
        )}
      </Row>
    </Stack>
  );
}

interface EnvironmentsProps {
  readonly draft: FlagDraft;
  readonly rule: Rule;
  readonly set: (names: JsonValue | undefined) => void;
}

function Environments({ draft: { environments, isReadOnly }, rule, set }: EnvironmentsProps): ReactNode {
  const named = rule.environments;
  return (
    <fieldset disabled={isReadOnly}>
      <legend className="name">{texts.rules.environments}</legend>
      <Row wrap gap={16} className="checks">
        <Row>
          <input
            id={`${rule.id}-all`}
            type="checkbox"
            checked={named === undefined}
            onChange={({ target }) => set(target.checked ? undefined : [...environments])}
          />
          <label htmlFor={`${rule.id}-all`}>{texts.targeting.all}</label>
        </Row>
        {environments.map((name) => (
          <Row key={name}>
            <input
              id={`${rule.id}-${name}`}
              type="checkbox"
              checked={named === undefined || named.includes(name)}
              onChange={({ target }) => {
                const chosen = new Set(named ?? environments);
                if (target.checked) chosen.add(name);
                else chosen.delete(name);
                set(environments.filter((one) => chosen.has(one)));
              }}
            />
            <label htmlFor={`${rule.id}-${name}`}>{titleOf(name)}</label>
          </Row>
        ))}
      </Row>
    </fieldset>
  );
}

/** Texts that conditions compare each attribute with, as offers for others. */
function usedValuesOf(groups: readonly RuleConditions[]): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  const visit = ({ conditions, not }: RuleConditions): void => {
    for (const condition of conditions) {
      if (isGroup(condition)) visit(condition);
      else if (!isSegment(condition)) {
        const texts = [condition.value].flat().filter((one) => typeof one === "string" && one !== "");
        const all = [...(found.get(condition.attribute) ?? []), ...texts.map(String)];
        found.set(condition.attribute, [...new Set(all)]);
      }
    }
    if (not !== undefined) visit(not);
  };
  groups.forEach(visit);
  return found;
}
