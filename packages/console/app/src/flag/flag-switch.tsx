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
  const may = useMay();
  const [isAsking, setAsking] = useState(false);
  const [conflict, setConflict] = useState<FlagChange>();
  const update = useUpdateFlag(setConflict);
  const turnOn = !flag.enabled;
  return (
    <>
      <Switch
        checked={flag.enabled}
        disabled={!may("update")}
        onChange={() => setAsking(true)}
        label={texts.flag.switchOf(flag.name)}
      />
      <ChangeDialog
        flag={flag}
        fields={isAsking ? { enabled: turnOn } : undefined}
        title={turnOn ? texts.flag.turnOnTitle(flag.name) : texts.flag.turnOffTitle(flag.name)}
        confirm={turnOn ? texts.flag.turnOn : texts.flag.turnOff}
        done={turnOn ? texts.flag.turnedOn(flag.name) : texts.flag.turnedOff(flag.name)}
        isDangerous={!turnOn}
        isProduction={reachesProduction(flag)}
        onClose={() => setAsking(false)}
        onConfirm={(change) => update.mutate(change)}
      />
      <ConflictDialog
        change={conflict}
        onClose={() => setConflict(undefined)}
        onRetry={(change) => update.mutate(change)}
      />
    </>
  );
}
