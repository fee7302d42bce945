/** The form of a new key. It offers only actions that the person has. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useState } from "react";
import { CONSOLE, keysQuery } from "../api/queries.ts";
import { request } from "../api/request.ts";
import type { FlagAction } from "../api/types.ts";
import { useSession } from "../shell/session.tsx";
import { texts } from "../texts.ts";
import { Button } from "../ui/button.tsx";
import { copyText } from "../ui/copy.ts";
import { DialogFooter } from "../ui/dialog.tsx";
import { Field } from "../ui/field.tsx";
import { Stack } from "../ui/layout.tsx";
import { Select } from "../ui/select.tsx";
import { FormError } from "../ui/states.tsx";

const ACTIONS: readonly FlagAction[] = [
  "read",
  "create",
  "update",
  "delete",
  "override",
  "audit",
  "evaluate-as",
];
const DAYS = [30, 90, 365].map((days): [string, string] => [String(days), texts.keys.after(days)]);

export function NewKey({ onClose }: { onClose: () => void }): ReactNode {
  const client = useQueryClient();
  const { actions: own } = useSession();
  const [name, setName] = useState("");
  const [actions, setActions] = useState<readonly FlagAction[]>(["read"]);
  const [days, setDays] = useState("90");
  const create = useMutation({
    mutationFn: () =>
      request("POST", `${CONSOLE}/create-key`, {
        body: { name: name.trim(), actions, expiresInDays: Number(days) },
      }),
    onSuccess: () => client.invalidateQueries({ queryKey: keysQuery().queryKey }),
  });
  if (create.data !== undefined) return <Secret secret={create.data.key} onClose={onClose} />;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    create.mutate();
  };
  const toggle = (action: FlagAction): void =>
    setActions((before) =>
      before.includes(action) ? before.filter((one) => one !== action) : [...before, action],
    );
  return (
    <form className="stack gap-16" onSubmit={submit}>
      <Field label={texts.keys.name}>
        <input
          required
          maxLength={64}
          value={name}
          placeholder={texts.keys.nameHint}
          onChange={({ target }) => setName(target.value)}
        />
      </Field>
      <fieldset>
        <legend>{texts.keys.may}</legend>
        {ACTIONS.filter((action) => own.includes(action)).map((action) => (
          <label key={action} className="row check">
            <input type="checkbox" checked={actions.includes(action)} onChange={() => toggle(action)} />
            <span className="name">{texts.actions[action] ?? action}</span>
            <span className="muted">{texts.actionHints[action]}</span>
          </label>
        ))}
      </fieldset>
      <Field label={texts.keys.expiry}>
        <Select value={days} options={DAYS} onChange={setDays} />
      </Field>
      <FormError error={create.error} />
      <DialogFooter>
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <Button type="submit" tone="primary" disabled={actions.length === 0} busy={create.isPending}>
          {texts.keys.create}
        </Button>
      </DialogFooter>
    </form>
  );
}

function Secret({ secret, onClose }: { secret: string; onClose: () => void }): ReactNode {
  const [isCopied, setCopied] = useState(false);
  return (
    <Stack gap={16}>
      <p className="notice">{texts.keys.once}</p>
      <Field label={texts.keys.secret}>
        <input className="code" readOnly value={secret} onFocus={({ target }) => target.select()} />
      </Field>
      <DialogFooter>
        <Button onClick={() => void copyText(secret).then(setCopied)}>
          {isCopied ? texts.common.copied : texts.keys.copy}
        </Button>
        <Button tone="primary" onClick={onClose}>
          {texts.keys.kept}
        </Button>
      </DialogFooter>
    </Stack>
  );
}
