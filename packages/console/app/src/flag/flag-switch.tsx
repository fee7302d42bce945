/** The switch of a flag. Pressing it shows whom the change concerns; the change is made after that. */
import { type ReactNode, useState } from "react";
import type { Flag } from "../api/types.ts";
import { useMay } from "../shell/session.tsx";
import { texts } from "../texts.ts";
import { Switch } from "../ui/switch.tsx";
import { ChangeDialog } from "./change-dialog.tsx";
import { ConflictDialog } from "./conflict-dialog.tsx";
import { reachesProduction } from "./environments.ts";
import { type FlagChange, useUpdateFlag } from "./use-update-flag.ts";

export function FlagSwitch({ flag }: { flag: Flag }): ReactNode {
  const [isAsking, setAsking] = useState(false);
  return (
    <>
      <FlagSwitchButton flag={flag} onPress={() => setAsking(true)} />
      <FlagSwitchDialogs flag={isAsking ? flag : undefined} onClose={() => setAsking(false)} />
    </>
  );
}

/** Only the switch. A list has one `FlagSwitchDialogs` for all of its switches. */
export function FlagSwitchButton({
  flag,
  onPress,
}: {
  flag: Flag;
  onPress: (flag: Flag) => void;
}): ReactNode {
  const may = useMay();
  return (
    <Switch
      checked={flag.enabled}
      disabled={!may("update")}
      onChange={() => onPress(flag)}
      label={texts.flag.switchOf(flag.name)}
    />
  );
}

/** `flag`: the one whose switch was pressed. */
export function FlagSwitchDialogs({
  flag,
  onClose,
}: {
  flag: Flag | undefined;
  onClose: () => void;
}): ReactNode {
  const [conflict, setConflict] = useState<FlagChange>();
  const update = useUpdateFlag(setConflict);
  const turnOn = flag?.enabled === false;
  return (
    <>
      {flag && (
        <ChangeDialog
          flag={flag}
          fields={{ enabled: turnOn }}
          title={turnOn ? texts.flag.turnOnTitle(flag.name) : texts.flag.turnOffTitle(flag.name)}
          confirm={turnOn ? texts.flag.turnOn : texts.flag.turnOff}
          done={turnOn ? texts.flag.turnedOn(flag.name) : texts.flag.turnedOff(flag.name)}
          isDangerous={!turnOn}
          isProduction={reachesProduction(flag)}
          onClose={onClose}
          onConfirm={(change) => update.mutate(change)}
        />
      )}
      <ConflictDialog
        change={conflict}
        onClose={() => setConflict(undefined)}
        onRetry={(change) => update.mutate(change)}
      />
    </>
  );
}
