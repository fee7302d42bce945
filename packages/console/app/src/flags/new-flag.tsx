/** A new flag needs a name. Everything else unfolds, and can be changed later. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, type ReactNode, useState } from "react";
import { ADMIN, scoped } from "../api/queries.ts";
import { request } from "../api/request.ts";
import type { FlagType } from "../api/types.ts";
import { useSession } from "../shell/session.tsx";
import { texts } from "../texts.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Field } from "../ui/field.tsx";
import { FormError } from "../ui/states.tsx";
import { showToast } from "../ui/toasts.tsx";
import { keyOf } from "./key-of.ts";

const TYPES = ["boolean", "string", "number", "json"] as const;

export function NewFlag({ open, onClose }: { open: boolean; onClose: () => void }): ReactNode {
  return (
    <Dialog open={open} onClose={onClose} title={texts.newFlag.title} description={texts.newFlag.what}>
      <Form onClose={onClose} />
    </Dialog>
  );
}

function Form({ onClose }: { onClose: () => void }): ReactNode {
  const client = useQueryClient();
  const navigate = useNavigate();
  const { multiTenant } = useSession();
  const [name, setName] = useState("");
  const [ownKey, setOwnKey] = useState<string>();
  const [type, setType] = useState<FlagType>("boolean");
  const [description, setDescription] = useState("");
  const key = ownKey ?? keyOf(name);
  const create = useMutation({
    mutationFn: () =>
      request("POST", `${ADMIN}/flags`, {
        body: {
          key,
          name: name.trim(),
          type,
          ...(description.trim() !== "" && { description: description.trim() }),
          // Off must mean off: without it, a boolean flag whose default is true stays true.
          ...(type === "boolean" && { offValue: false, rolloutPercentage: 100 }),
          ...(multiTenant && { organizationId: scoped({}).organizationId ?? "" }),
        },
      }),
    onSuccess: async (flag) => {
      await client.invalidateQueries({ queryKey: ["flags"] });
      showToast({ tone: "done", text: texts.newFlag.done(flag.name) });
      void navigate({ to: "/flag/$key", params: { key: flag.key } });
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    create.mutate();
  };
  return (
    <form className="form" onSubmit={submit}>
      <Field label={texts.newFlag.name}>
        <input
          required
          maxLength={255}
          value={name}
          onChange={({ target }) => setName(target.value)}
          placeholder={texts.newFlag.nameHint}
        />
      </Field>
      <p className="hint">
        {texts.newFlag.keyIs} <code>{key === "" ? "…" : key}</code>
      </p>
      <details>
        <summary>{texts.newFlag.more}</summary>
        <div className="form">
          <Field label={texts.newFlag.key} hint={texts.newFlag.keyHint}>
            <input
              value={key}
              pattern="[A-Za-z0-9_\-]{1,128}"
              maxLength={128}
              onChange={({ target }) => setOwnKey(target.value)}
            />
          </Field>
          <Field label={texts.newFlag.type}>
            <select value={type} onChange={({ target }) => setType(target.value as FlagType)}>
              {TYPES.map((one) => (
                <option key={one} value={one}>
                  {texts.types[one]}
                </option>
              ))}
            </select>
          </Field>
          <Field label={texts.flag.description}>
            <textarea rows={2} value={description} onChange={({ target }) => setDescription(target.value)} />
          </Field>
        </div>
      </details>
      <FormError error={create.error} />
      <footer className="dialog-footer">
        <button type="button" className="button" onClick={onClose}>
          {texts.common.cancel}
        </button>
        <button type="submit" className="button button-primary" disabled={create.isPending || key === ""}>
          {texts.newFlag.submit}
        </button>
      </footer>
    </form>
  );
}
