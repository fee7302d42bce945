/** One condition: attribute, operator, operand. Known attributes are offered by name. */
import { ShieldCheck } from "lucide-react";
import { type ReactNode, useId, useState } from "react";
import type { ConditionOperator, JsonValue, SimpleCondition } from "../api/types.ts";
import { useSession } from "../shell/session.tsx";
import { texts } from "../texts.ts";
import { asKind, kindOf, kindsOf, listOf, listText, type OperandKind } from "./operand.ts";
import { RemoveCondition } from "./remove-condition.tsx";

/** Every context has these. */
const COMMON = [
  "email",
  "userId",
  "role",
  "organizationId",
  "attributes.organizationRole",
  "environment",
  "geo.country",
  "device.type",
  "device.os",
  "device.browser",
];

const OPERATORS: readonly ConditionOperator[] = [
  "equals",
  "not_equals",
  "in",
  "not_in",
  "contains",
  "not_contains",
  "starts_with",
  "ends_with",
  "greater_than",
  "greater_than_or_equal",
  "less_than",
  "less_than_or_equal",
  "regex",
];

interface ConditionEditorProps {
  readonly condition: SimpleCondition;
  readonly onChange: (condition: SimpleCondition) => void;
  readonly onRemove: () => void;
}

export function ConditionEditor({ condition, onChange, onRemove }: ConditionEditorProps): ReactNode {
  const { trustedPaths } = useSession();
  const listId = useId();
  const { attribute, operator, value } = condition;
  const kind = kindOf(operator, value);
  const kinds = kindsOf(operator);
  const isTrusted = trustedPaths.includes(attribute);
  const chooseOperator = (next: ConditionOperator): void => {
    const allowed = kindsOf(next);
    const nextKind = allowed.find((one) => one === kind) ?? allowed[0] ?? "text";
    onChange({ ...condition, operator: next, value: nextKind === kind ? value : asKind(value, nextKind) });
  };
  return (
    <div className="condition">
      <span className="condition-attribute">
        <input
          required
          aria-label={texts.rules.attribute}
          placeholder={texts.rules.attribute}
          list={listId}
          value={attribute}
          onChange={({ target }) => onChange({ ...condition, attribute: target.value.trim() })}
        />
        {isTrusted && (
          <span className="trusted" title={texts.rules.trusted}>
            <ShieldCheck aria-hidden size={15} />
            <span className="visually-hidden">{texts.rules.trusted}</span>
          </span>
        )}
      </span>
      <datalist id={listId}>
        {trustedPaths.map((path) => (
          <option key={path} value={path}>
            {texts.rules.trustedShort}
          </option>
        ))}
        {COMMON.map((path) => (
          <option key={path} value={path} />
        ))}
      </datalist>
      <select
        aria-label={texts.rules.comparison}
        value={operator}
        onChange={({ target }) => chooseOperator(target.value as ConditionOperator)}
      >
        {OPERATORS.map((one) => (
          <option key={one} value={one}>
            {texts.operators[one]}
          </option>
        ))}
      </select>
      <Operand kind={kind} value={value} onChange={(next) => onChange({ ...condition, value: next })} />
      {kinds.length > 1 && (
        <select
          className="kind"
          aria-label={texts.rules.kind}
          value={kind}
          onChange={({ target }) =>
            onChange({ ...condition, value: asKind(value, target.value as OperandKind) })
          }
        >
          {[...new Set([...kinds, kind])].map((one) => (
            <option key={one} value={one}>
              {texts.rules.kinds[one]}
            </option>
          ))}
        </select>
      )}
      <RemoveCondition onRemove={onRemove} />
    </div>
  );
}

interface OperandProps {
  readonly kind: OperandKind;
  readonly value: JsonValue;
  readonly onChange: (value: JsonValue) => void;
}

function Operand({ kind, value, onChange }: OperandProps): ReactNode {
  const label = texts.rules.operand;
  if (kind === "boolean") {
    return (
      <select
        aria-label={label}
        value={String(value)}
        onChange={({ target }) => onChange(target.value === "true")}
      >
        <option value="true">true</option>
        <option value="false">false</option>
      </select>
    );
  }
  if (kind === "number") {
    return (
      <input
        aria-label={label}
        type="number"
        step="any"
        value={typeof value === "number" ? value : ""}
        onChange={({ target }) => Number.isFinite(target.valueAsNumber) && onChange(target.valueAsNumber)}
      />
    );
  }
  if (kind === "list") return <ListInput value={value} onChange={onChange} />;
  return (
    <input
      aria-label={label}
      placeholder={texts.rules.operand}
      value={typeof value === "string" ? value : JSON.stringify(value)}
      onChange={({ target }) => onChange(target.value)}
    />
  );
}

/** Keeps what is typed, so that a comma at the end does not vanish. */
function ListInput({
  value,
  onChange,
}: {
  value: JsonValue;
  onChange: (value: JsonValue) => void;
}): ReactNode {
  const [typed, setTyped] = useState(() => listText(value));
  return (
    <input
      aria-label={texts.rules.operand}
      placeholder={texts.rules.listHint}
      value={typed}
      onChange={({ target }) => {
        setTyped(target.value);
        onChange(listOf(target.value));
      }}
    />
  );
}
