/** A setting of the shown environment: its own, or the flag's; and the way back to that. */
import type { ReactNode } from "react";
import type { JsonValue } from "../api/types.ts";
import { fieldText } from "../history/entry-text.ts";
import { texts } from "../texts.ts";
import { Field } from "../ui/field.tsx";
import { EMPTY_VALUES, ValueInput } from "../ui/value-input.tsx";
import type { EnvironmentField } from "./draft/cells.ts";
import { settingCell, settingOf, titleOf } from "./environments.ts";
import type { FlagDraft } from "./use-draft.ts";

interface InheritedProps {
  readonly draft: FlagDraft;
  readonly field: EnvironmentField;
}

export function Inherited({ draft, field }: InheritedProps): ReactNode {
  const { environment, next, isReadOnly, set } = draft;
  if (environment === undefined || draft.environments.length === 0) return null;
  const { isOwn } = settingOf(next.flag, environment, field);
  const { value } = settingOf(next.flag, undefined, field);
  const ofFlag = value === undefined ? texts.targeting.none : fieldText(field, value);
  return (
    <p className="caption muted">
      {isOwn ? `${texts.targeting.own(titleOf(environment), ofFlag)}. ` : texts.targeting.sameAsFlag(ofFlag)}
      {isOwn && !isReadOnly && (
        <button
          type="button"
          className="link-button"
          onClick={() => set(settingCell(environment, field), undefined)}
        >
          {texts.targeting.valueOfFlag(ofFlag)}
        </button>
      )}
    </p>
  );
}

interface ValueSettingProps {
  readonly draft: FlagDraft;
  readonly field: "defaultValue" | "offValue";
  readonly label: string;
}

export function ValueSetting({ draft, field, label }: ValueSettingProps): ReactNode {
  const { environment, isReadOnly, set } = draft;
  return (
    <>
      <Field label={label}>
        <ValueInput
          type={draft.next.flag.type}
          value={givenBy(draft, field)}
          disabled={isReadOnly}
          onChange={(value) => set(settingCell(environment, field), value)}
        />
      </Field>
      <Inherited draft={draft} field={field} />
    </>
  );
}

/** What people get by it. While the flag is off, that is the default unless another value is set. */
export function givenBy(
  { next: { flag }, environment }: FlagDraft,
  field: ValueSettingProps["field"],
): JsonValue {
  const standard = settingOf(flag, environment, "defaultValue").value ?? EMPTY_VALUES[flag.type];
  return settingOf(flag, environment, field).value ?? standard;
}
