/** The form of a new key. It offers only actions that the person has. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useState } from "react";
import { CONSOLE, keysQuery } from "../api/queries.ts";
import { request } from "../api/request.ts";
import type { FlagAction } from "../api/types.ts";
import { useSession } from "../shell/session.tsx";
import { texts } from "../texts.ts";
import { Field } from "../ui/field.tsx";
import { FormError } from "../ui/states.tsx";
import { showToast } from "../ui/toasts.tsx";

const ACTIONS: readonly FlagAction[] = [
  "read",
  "create",
  "update",
  "delete",
  "override",
  "audit",
  "evaluate-as",
];
const DAYS = [30, 90, 365];

export function NewKey({ onClose }: { onClose: () => void }): ReactNode {
  const client = useQueryClient();
  const { actions: own } = useSession();
  const [name, setName] = useState("");
  const [actions, setActions] = useState<readonly FlagAction[]>(["read"]);
  const [days, setDays] = useState(90);
  const create = useMutation({
    mutationFn: () =>
      request("POST", `${CONSOLE}/create-key`, {
        body: { name: name.trim(), actions, expiresInDays: days },
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
    <form className="form" onSubmit={submit}>
      <Field label={texts.keys.name}>
        <input
          required
          maxLength={64}
          value={name}
          placeholder={texts.keys.nameHint}
          onChange={({ target }) => setName(target.value)}
        />
      </Field>
      <fieldset className="checks">
        <legend>{texts.keys.may}</legend>
        {ACTIONS.filter((action) => own.includes(action)).map((action) => (
          <label key={action} className="check">
            <input type="checkbox" checked={actions.includes(action)} onChange={() => toggle(action)} />
            <span>{texts.actions[action] ?? action}</span>
            <span className="muted">{texts.actionHints[action]}</span>
          </label>
        ))}
      </fieldset>
      <Field label={texts.keys.expiry}>
        <select value={days} onChange={({ target }) => setDays(Number(target.value))}>
          {DAYS.map((one) => (
            <option key={one} value={one}>
              {texts.keys.after(one)}
            </option>
          ))}
        </select>
      </Field>
      <FormError error={create.error} />
      <footer className="dialog-footer">
        <button type="button" className="button" onClick={onClose}>
          {texts.common.cancel}
        </button>
        <button
          type="submit"
          className="button button-primary"
          disabled={create.isPending || actions.length === 0}
        >
          {texts.keys.create}
        </button>
      </footer>
    </form>
  );
}

function Secret({ secret, onClose }: { secret: string; onClose: () => void }): ReactNode {
  return (
    <div className="form">
      <p className="notice">{texts.keys.once}</p>
      <Field label={texts.keys.secret}>
        <input readOnly value={secret} onFocus={({ target }) => target.select()} />
      </Field>
      <footer className="dialog-footer">
        <button
          type="button"
          className="button"
          onClick={() =>
            void navigator.clipboard.writeText(secret).then(
              () => showToast({ tone: "done", text: texts.common.copied }),
              () => showToast({ tone: "problem", text: texts.common.notCopied }),
            )
          }
        >
          {texts.keys.copy}
        </button>
        <button type="button" className="button button-primary" onClick={onClose}>
          {texts.keys.kept}
        </button>
      </footer>
    </div>
  );
}
