/** A new flag needs a name, from which its key follows. The key and the type stay, so both are visible. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, type ReactNode, useState } from "react";
import { ADMIN, scoped } from "../api/queries.ts";
import { request } from "../api/request.ts";
import type { FlagType } from "../api/types.ts";
import { useSession } from "../shell/session.tsx";
import { texts } from "../texts.ts";
import { Button } from "../ui/button.tsx";
import { Dialog, DialogFooter } from "../ui/dialog.tsx";
import { Field } from "../ui/field.tsx";
import { Stack } from "../ui/layout.tsx";
import { Segmented } from "../ui/segmented.tsx";
import { FormError } from "../ui/states.tsx";
import { showToast } from "../ui/toasts.tsx";
import { keyOf } from "./key-of.ts";

const TYPES = (["boolean", "string", "number", "json"] as const).map((type): [FlagType, string] => [
  type,
  texts.types[type],
]);

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
          // Off is false for everyone, and so is on, until a person chooses who gets it.
          ...(type === "boolean" && { offValue: false, rolloutPercentage: 0 }),
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
    <form className="stack gap-16" onSubmit={submit}>
      <Field label={texts.newFlag.name}>
        <input
          required
          maxLength={255}
          value={name}
          onChange={({ target }) => setName(target.value)}
          placeholder={texts.newFlag.nameHint}
        />
      </Field>
      <Field label={texts.newFlag.key} hint={texts.newFlag.keyHint}>
        <input
          className="code"
          value={key}
          required
          pattern="[A-Za-z0-9_\-]{1,128}"
          maxLength={128}
          onChange={({ target }) => setOwnKey(target.value)}
        />
      </Field>
      <Stack gap={4}>
        <span className="name">{texts.newFlag.type}</span>
        <Segmented label={texts.newFlag.type} value={type} options={TYPES} onChange={setType} />
        <p className="hint">{texts.newFlag.starts[type]}</p>
      </Stack>
      <Field label={texts.flag.description}>
        <textarea rows={2} value={description} onChange={({ target }) => setDescription(target.value)} />
      </Field>
      <FormError error={create.error} />
      <DialogFooter>
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <Button type="submit" tone="primary" busy={create.isPending}>
          {texts.newFlag.submit}
        </Button>
      </DialogFooter>
    </form>
  );
}
