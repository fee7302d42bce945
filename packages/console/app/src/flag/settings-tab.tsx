/** Name, description, visibility and bucketing; and the deletion of the flag. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Trash2 } from "lucide-react";
import { type ReactNode, useState } from "react";
import { ADMIN } from "../api/queries.ts";
import { request } from "../api/request.ts";
import type { Flag } from "../api/types.ts";
import { useMay } from "../shell/session.tsx";
import { texts } from "../texts.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Field } from "../ui/field.tsx";
import { FormError } from "../ui/states.tsx";
import { showToast } from "../ui/toasts.tsx";
import type { FlagDraft } from "./use-draft.ts";

const BUCKETS = ["userId", "organizationId", "anonymousId"] as const;

export function SettingsTab({ draft }: { readonly draft: FlagDraft }): ReactNode {
  const may = useMay();
  const { stored, isReadOnly: disabled, set } = draft;
  const next = draft.next.flag;
  return (
    <>
      <section className="card form">
        <Field label={texts.newFlag.name}>
          <input
            value={next.name}
            maxLength={255}
            disabled={disabled}
            onChange={({ target }) => set({ field: "name" }, target.value)}
          />
        </Field>
        <Field label={texts.flag.description}>
          <textarea
            rows={3}
            value={next.description ?? ""}
            disabled={disabled}
            onChange={({ target }) =>
              set({ field: "description" }, target.value === "" ? undefined : target.value)
            }
          />
        </Field>
        <Field label={texts.flag.visibility} hint={texts.flag.visibilityHint}>
          <select
            value={next.visibility}
            disabled={disabled}
            onChange={({ target }) => set({ field: "visibility" }, target.value)}
          >
            <option value="public">{texts.flag.public}</option>
            <option value="server">{texts.flag.serverOnly}</option>
          </select>
        </Field>
        <Field label={texts.flag.bucketBy} hint={texts.flag.bucketByHint}>
          <select
            value={next.bucketBy ?? "userId"}
            disabled={disabled}
            onChange={({ target }) => set({ field: "bucketBy" }, target.value)}
          >
            {[...new Set([...BUCKETS, next.bucketBy ?? "userId"])].map((one) => (
              <option key={one} value={one}>
                {texts.flag.buckets[one] ?? one}
              </option>
            ))}
          </select>
        </Field>
      </section>
      {may("delete") && <Deletion flag={stored.flag} />}
    </>
  );
}

function Deletion({ flag }: { flag: Flag }): ReactNode {
  const [isAsking, setAsking] = useState(false);
  const [typed, setTyped] = useState("");
  const client = useQueryClient();
  const navigate = useNavigate();
  const remove = useMutation({
    mutationFn: () => request("DELETE", `${ADMIN}/flags/${flag.id}`, { version: flag.version }),
    onSuccess: async () => {
      await navigate({ to: "/" });
      await client.invalidateQueries({ queryKey: ["flags"] });
      showToast({ tone: "done", text: texts.flag.deleted(flag.name) });
    },
  });
  return (
    <section className="card card-danger">
      <h2>{texts.flag.deleteTitle}</h2>
      <p className="muted">{texts.flag.deleteWhat}</p>
      <button type="button" className="button button-danger" onClick={() => setAsking(true)}>
        <Trash2 aria-hidden size={16} /> {texts.flag.delete}
      </button>
      <Dialog
        open={isAsking}
        onClose={() => setAsking(false)}
        title={texts.flag.deleteConfirm(flag.name)}
        description={texts.flag.deleteWhat}
      >
        <form
          className="form"
          onSubmit={(event) => {
            event.preventDefault();
            if (typed === flag.key) remove.mutate();
          }}
        >
          <Field label={texts.flag.typeKey(flag.key)}>
            <input value={typed} autoComplete="off" onChange={({ target }) => setTyped(target.value)} />
          </Field>
          <FormError error={remove.error} />
          <footer className="dialog-footer">
            <button type="button" className="button" onClick={() => setAsking(false)}>
              {texts.common.cancel}
            </button>
            <button
              type="submit"
              className="button button-danger"
              disabled={typed !== flag.key || remove.isPending}
            >
              {texts.flag.delete}
            </button>
          </footer>
        </form>
      </Dialog>
    </section>
  );
}
