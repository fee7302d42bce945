/**
 * The switch of a flag in an environment: a dialog shows whom it changes, and the next press makes the change at once.
 * Turning off never waits, neither for the count nor for a draft.
 */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { ADMIN } from "../api/queries.ts";
import { isStatus, request } from "../api/request.ts";
import type { Flag } from "../api/types.ts";
import { useMay } from "../shell/session.tsx";
import { texts } from "../texts.ts";
import { Button } from "../ui/button.tsx";
import { Dialog, DialogFooter } from "../ui/dialog.tsx";
import { Stack } from "../ui/layout.tsx";
import { FormError, messageOf } from "../ui/states.tsx";
import { Switch } from "../ui/switch.tsx";
import { showToast } from "../ui/toasts.tsx";
import { settingOf, settingPatch, titleOf } from "./environments.ts";
import { Impact } from "./impact.tsx";
import { planInput, useCount } from "./use-count.ts";
import { doneQuery, revertChange, useRefresh, useSave } from "./use-save.ts";

interface FlagSwitchButtonProps {
  readonly flag: Flag;
  /** Undefined: the flag's own switch. */
  readonly environment?: string | undefined;
  readonly onPress: (flag: Flag) => void;
}

/** Only the switch. A list has one `FlagSwitchDialogs` for all of its switches. */
export function FlagSwitchButton({ flag, environment, onPress }: FlagSwitchButtonProps): ReactNode {
  const may = useMay();
  return (
    <Switch
      checked={settingOf(flag, environment, "enabled").value === true}
      disabled={!may("update")}
      onChange={() => onPress(flag)}
      label={texts.targeting.switchOf(flag.name, environment && titleOf(environment))}
    />
  );
}

interface FlagSwitchDialogsProps {
  /** The one whose switch was pressed. */
  readonly flag: Flag | undefined;
  readonly environment?: string | undefined;
  /** Where a draft is open: the switch may become a part of it. */
  readonly onDraft?: ((enabled: boolean) => void) | undefined;
  readonly onClose: () => void;
}

export function FlagSwitchDialogs({ flag, ...rest }: FlagSwitchDialogsProps): ReactNode {
  return flag && <SwitchDialog key={flag.id} flag={flag} {...rest} />;
}

function SwitchDialog(props: FlagSwitchDialogsProps & { readonly flag: Flag }): ReactNode {
  const { flag, environment, onDraft, onClose } = props;
  const client = useQueryClient();
  const refresh = useRefresh();
  // As it was when the dialog opened, so that its question stays the same.
  const [turnOn] = useState(settingOf(flag, environment, "enabled").value !== true);
  const where = environment && titleOf(environment);
  const subject = `${flag.id} switch`;
  const fields = settingPatch(environment, "enabled", turnOn);
  const input = planInput([{ flagId: flag.id, fields }], environment === undefined ? [] : [environment]);
  const count = useCount(subject, input);
  const others = Object.entries(flag.environments ?? {}).flatMap(([name, { enabled }]) =>
    enabled === undefined ? [] : [titleOf(name)],
  );
  const undone = (): void => showToast({ tone: "done", text: texts.flag.undone(flag.name) });
  const undo = useMutation({
    mutationFn: (change: { changeId: string } | { version: number }): Promise<unknown> =>
      "changeId" in change
        ? revertChange(change.changeId)
        : request("PATCH", `${ADMIN}/flags/${flag.id}`, {
            body: settingPatch(
              environment,
              "enabled",
              settingOf(flag, environment, "enabled").isOwn || environment === undefined ? !turnOn : null,
            ),
            version: change.version,
          }),
    onSuccess: () => {
      undone();
      return refresh();
    },
    onError: (error) => {
      const text = isStatus(error, 409) ? texts.flag.undoRefused : messageOf(error);
      showToast({ tone: "problem", text });
    },
  });
  const finish = (change: Parameters<typeof undo.mutate>[0] | undefined): void => {
    client.setQueryData(doneQuery(flag.id).queryKey, null);
    showToast({
      tone: "done",
      text: turnOn ? texts.flag.turnedOn(flag.name, where) : texts.flag.turnedOff(flag.name, where),
      ...(change && { action: { label: texts.common.undo, run: () => undo.mutate(change) } }),
    });
    onClose();
  };
  const switchAtOnce = () => request("PATCH", `${ADMIN}/flags/${flag.id}`, { body: fields });
  const save = useSave(subject, {
    saveUncounted: switchAtOnce,
    onSaved: ({ changeId }) => finish(changeId === undefined ? undefined : { changeId }),
  });
  const off = useMutation({
    mutationFn: switchAtOnce,
    onSuccess: ({ version }) => {
      finish({ version });
      return refresh();
    },
  });
  const confirm = (): void => {
    if (!turnOn) return off.mutate();
    save.mutate({ input, count });
  };
  const title = turnOn ? texts.flag.turnOnTitle : texts.flag.turnOffTitle;
  const action = turnOn ? texts.flag.turnOnIn(where) : texts.flag.turnOffIn(where);
  const now = turnOn ? texts.flag.turnOnNow : texts.flag.turnOffNow;
  return (
    <Dialog open onClose={onClose} title={title(flag.name, where)}>
      <Stack gap={12}>
        {environment === undefined && others.length > 0 && (
          <p className="soft">{texts.flag.ownSwitch(others)}</p>
        )}
        <Impact count={count} {...(turnOn && { otherwise: texts.impact.failedSave })} />
        <FormError error={save.error ?? off.error} />
      </Stack>
      <DialogFooter>
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        {onDraft && (
          <Button
            onClick={() => {
              onDraft(turnOn);
              onClose();
            }}
          >
            {texts.flag.addToDraft}
          </Button>
        )}
        <Button tone={turnOn ? "primary" : "danger"} busy={save.isPending || off.isPending} onClick={confirm}>
          {onDraft ? now : action}
        </Button>
      </DialogFooter>
    </Dialog>
  );
}
