/** The first step: whether the flag is on, and what everyone gets while it is off. */
import { Power } from "lucide-react";
import { type ReactNode, useState } from "react";
import { useMay } from "../shell/session.tsx";
import { texts } from "../texts.ts";
import { PathNode, PathStep, Row, Stack } from "../ui/layout.tsx";
import { Switch } from "../ui/switch.tsx";
import { valueText } from "../ui/value.tsx";
import { settingCell, settingOf, titleOf } from "./environments.ts";
import { givenBy, Inherited, ValueSetting } from "./inherited.tsx";
import type { Seen } from "./seen.ts";
import type { FlagDraft } from "./use-draft.ts";

interface SwitchStepProps {
  readonly draft: FlagDraft;
  readonly seen: Seen | undefined;
  readonly onPress: () => void;
}

export function SwitchStep({ draft, seen, onPress }: SwitchStepProps): ReactNode {
  const { environment, next, isReadOnly } = draft;
  const [isOpen, setOpen] = useState(false);
  const may = useMay();
  const where = environment && titleOf(environment);
  const isOn = settingOf(next.flag, environment, "enabled").value === true;
  const isEdited = draft.draft.isEdited(
    settingCell(environment, "offValue"),
    settingCell(environment, "enabled"),
  );
  return (
    <PathStep
      state={seen?.stateOf("switch") ?? (isEdited ? "edited" : undefined)}
      isOff={!isOn}
      node={<PathNode>{seen?.markOf("switch") ?? <Power size={14} />}</PathNode>}
    >
      <Row gap={12} className="switch-step">
        <Stack gap={0} grow>
          <Row>
            <h2>{texts.targeting.state(isOn, where)}</h2>
            {isEdited && <span className="tag tag-accent">{texts.targeting.edited}</span>}
          </Row>
          <p className="caption muted">
            {texts.targeting.whileOff} <code>{valueText(givenBy(draft, "offValue"))}</code>.{" "}
            {!isReadOnly && (
              <button
                type="button"
                className="link-button"
                aria-expanded={isOpen}
                onClick={() => setOpen(!isOpen)}
              >
                {texts.targeting.change}
              </button>
            )}
          </p>
          <Inherited draft={draft} field="enabled" />
        </Stack>
        <Switch
          large
          checked={isOn}
          disabled={!may("update") || isReadOnly}
          label={texts.targeting.switchOf(next.flag.name, where)}
          onChange={onPress}
        />
      </Row>
      {isOpen && (
        <Stack className="off-value">
          <ValueSetting draft={draft} field="offValue" label={texts.targeting.offValue} />
        </Stack>
      )}
    </PathStep>
  );
}
