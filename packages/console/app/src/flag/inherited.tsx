/** Whether an environment decides itself, or takes the value of the flag; and the way back to that. */
import type { ReactNode } from "react";
import type { EnvironmentSettings } from "../api/types.ts";
import { texts } from "../texts.ts";
import type { EnvironmentField } from "./draft/cells.ts";
import { settingCell, settingOf, titleOf } from "./environments.ts";
import type { FlagDraft } from "./use-draft.ts";

interface InheritedProps<Field extends EnvironmentField> {
  readonly draft: FlagDraft;
  readonly field: Field;
  readonly text: (value: EnvironmentSettings[Field]) => string;
}

export function Inherited<Field extends EnvironmentField>(props: InheritedProps<Field>): ReactNode {
  const { draft, field, text } = props;
  const { environment, next, isReadOnly, set } = draft;
  if (environment === undefined || draft.environments.length === 0) return null;
  const { isOwn } = settingOf(next.flag, environment, field);
  const ofFlag = text(settingOf(next.flag, undefined, field).value);
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
