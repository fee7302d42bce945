/** One condition: attribute, operator, operand. What is missing is said when the person leaves it. */
import { ShieldCheck } from "lucide-react";
import { type KeyboardEvent, type ReactNode, useEffect, useState } from "react";
import type { ConditionOperator, JsonValue, SimpleCondition } from "../api/types.ts";
import { isSame } from "../flag/draft/cells.ts";
import { missingIn } from "../flag/draft/problems.ts";
import { useSession } from "../shell/session.tsx";
import { texts } from "../texts.ts";
import { Combobox } from "../ui/combobox.tsx";
import { Row } from "../ui/layout.tsx";
import { NumberInput, UNBOUNDED } from "../ui/number-input.tsx";
import { Select } from "../ui/select.tsx";
import { ValueInput } from "../ui/value-input.tsx";
import { asKind, kindOf, kindsOf, listOf, listText, type OperandKind } from "./operand.ts";
import { RemoveCondition } from "./remove-condition.tsx";

/** Every context has these. Callers can claim all but the first four. */
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
const CLAIMED = /^(?:attributes|geo|device)\.(?!organizationRole$)/;

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
  readonly lead: ReactNode;
  /** Values that other conditions compare the attribute with. */
  readonly usedValues: readonly string[];
  /** Says what is missing, before the person has left it. */
  readonly isChecked: boolean;
  readonly onChange: (condition: SimpleCondition) => void;
  readonly onRemove: () => void;
  readonly onEnter: (event: KeyboardEvent<HTMLElement>) => void;
}

export function ConditionEditor(props: ConditionEditorProps): ReactNode {
  const { condition, lead, usedValues, isChecked, onChange, onRemove, onEnter } = props;
  const { trustedPaths } = useSession();
  const [hasLeft, setLeft] = useState(false);
  const { attribute, operator, value } = condition;
  const [shownKind, setKind] = useState<OperandKind>();
  const kinds = kindsOf(operator);
  // An empty operand has no type of its own.
  const kind = kinds.find((one) => one === shownKind && value === "") ?? kindOf(operator, value);
  const [missing] = missingIn({ conditions: [condition] });
  const error = isChecked || hasLeft ? missing : undefined;
  const isTrusted = trustedPaths.includes(attribute);
  const needle = attribute.toLowerCase();
  const paths = [...trustedPaths, ...COMMON].filter((path) => path.toLowerCase().includes(needle));
  const chooseKind = (next: OperandKind): void => {
    setKind(next);
    onChange({ ...condition, value: asKind(value, next) });
  };
  const chooseOperator = (next: ConditionOperator): void => {
    const allowed = kindsOf(next);
    const nextKind = allowed.find((one) => one === kind) ?? allowed[0] ?? "text";
    onChange({ ...condition, operator: next, value: nextKind === kind ? value : asKind(value, nextKind) });
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: Enter goes on from each of its fields
    <div
      className="condition"
      onBlur={({ currentTarget, relatedTarget }) => currentTarget.contains(relatedTarget) || setLeft(true)}
      onKeyDown={(event) => event.key === "Enter" && !event.defaultPrevented && onEnter(event)}
    >
      <span className="condition-lead muted">{lead}</span>
      <Combobox
        className="condition-attribute code"
        label={texts.rules.attribute}
        placeholder={texts.rules.attribute}
        text={attribute}
        free
        error={error?.what === "attribute" ? texts.draft.missing.attribute : undefined}
        icon={isTrusted && <ShieldCheck aria-label={texts.rules.trusted} size={15} className="good" />}
        options={paths.map((path) => ({
          value: path,
          content: <code>{path}</code>,
          ...(trustedPaths.includes(path) && {
            note: <ShieldCheck aria-label={texts.rules.trustedShort} size={14} />,
          }),
        }))}
        onType={(text) => onChange({ ...condition, attribute: text.trim() })}
        onChoose={(path) => onChange({ ...condition, attribute: path })}
      />
      <Select
        label={texts.rules.comparison}
        value={operator}
        options={OPERATORS.map((one) => [one, texts.operators[one]])}
        onChange={chooseOperator}
      />
      <div className="condition-value">
        <Row gap={4}>
          <Operand
            kind={kind}
            value={value}
            usedValues={usedValues}
            error={error?.what === "value" ? texts.draft.missing.value : undefined}
            onChange={(next) => {
              setKind(kind);
              onChange({ ...condition, value: next });
            }}
          />
          {kinds.length > 1 && (
            <Select
              quiet
              label={texts.rules.kind}
              value={kind}
              options={[...new Set([...kinds, kind])].map((one) => [one, texts.rules.kinds[one]])}
              onChange={chooseKind}
            />
          )}
        </Row>
      </div>
      <RemoveCondition onRemove={onRemove} />
      {CLAIMED.test(attribute) && <p className="condition-note hint">{texts.rules.claimed}</p>}
    </div>
  );
}

interface OperandProps {
  readonly kind: OperandKind;
  readonly value: JsonValue;
  readonly usedValues: readonly string[];
  readonly error: string | undefined;
  readonly onChange: (value: JsonValue) => void;
}

function Operand({ kind, value, usedValues, error, onChange }: OperandProps): ReactNode {
  const label = texts.rules.operand;
  if (kind === "boolean")
    return <ValueInput type="boolean" label={label} value={value} onChange={onChange} />;
  const isInvalid = { "aria-invalid": error !== undefined };
  if (kind === "number") {
    return (
      <WithError error={error}>
        <NumberInput
          {...UNBOUNDED}
          {...isInvalid}
          label={label}
          value={typeof value === "number" ? value : undefined}
          onChange={(next) => onChange(next ?? "")}
          onPartial={() => onChange("")}
        />
      </WithError>
    );
  }
  if (kind === "list") {
    return (
      <WithError error={error}>
        <ListInput {...isInvalid} value={value} onChange={onChange} />
      </WithError>
    );
  }
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return (
    <Combobox
      className="grow code"
      label={label}
      placeholder={label}
      free
      text={text}
      error={error}
      options={usedValues.filter((one) => one.includes(text) && one !== text).map((one) => ({ value: one }))}
      onType={onChange}
      onChoose={onChange}
    />
  );
}

function WithError({
  error,
  children,
}: {
  readonly error: string | undefined;
  readonly children: ReactNode;
}) {
  return (
    <div className="grow code">
      {children}
      {error !== undefined && (
        <p className="field-error" role="alert">
          {error}
        </p>
      )}
    </div>
  );
}

interface ListInputProps {
  readonly value: JsonValue;
  readonly onChange: (value: JsonValue) => void;
  readonly "aria-invalid": boolean;
}

/** Keeps what is typed, so that a comma at the end does not vanish. */
function ListInput({ value, onChange, ...rest }: ListInputProps): ReactNode {
  const [typed, setTyped] = useState(listText(value));
  useEffect(() => setTyped((text) => (isSame(listOf(text), value) ? text : listText(value))), [value]);
  return (
    <input
      {...rest}
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
