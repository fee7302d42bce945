/** Name, description, visibility and bucketing; and the deletion of the flag. */
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Trash2 } from "lucide-react";
import { type ReactNode, useState } from "react";
import { ADMIN } from "../api/queries.ts";
import { request } from "../api/request.ts";
import type { Flag } from "../api/types.ts";
import { useMay } from "../shell/session.tsx";
import { texts } from "../texts.ts";
import { Button } from "../ui/button.tsx";
import { DeleteDialog } from "../ui/delete-dialog.tsx";
import { Field } from "../ui/field.tsx";
import { Panel, Stack } from "../ui/layout.tsx";
import { Select } from "../ui/select.tsx";
import type { FlagDraft } from "./use-draft.ts";

const BUCKETS = ["userId", "organizationId", "anonymousId"] as const;

export function SettingsTab({ draft }: { readonly draft: FlagDraft }): ReactNode {
  const may = useMay();
  const { isReadOnly: disabled, set } = draft;
  const next = draft.next.flag;
  return (
    <Stack gap={32}>
      <section className="stack gap-16 narrow" aria-label={texts.flag.tabs.settings}>
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
          <Select
            value={next.visibility}
            disabled={disabled}
            options={[
              ["public", texts.flag.public],
              ["server", texts.flag.serverOnly],
            ]}
            onChange={(visibility) => set({ field: "visibility" }, visibility)}
          />
        </Field>
        <Field label={texts.flag.bucketBy} hint={texts.flag.bucketByHint}>
          <Select
            value={next.bucketBy ?? "userId"}
            disabled={disabled}
            options={[...new Set([...BUCKETS, next.bucketBy ?? "userId"])].map(
              (one) => [one, texts.flag.buckets[one] ?? one] as const,
            )}
            onChange={(bucketBy) => set({ field: "bucketBy" }, bucketBy)}
          />
        </Field>
      </section>
      {may("delete") && <Deletion flag={draft.draft.stored.flag} />}
    </Stack>
  );
}

function Deletion({ flag }: { flag: Flag }): ReactNode {
  const [isAsking, setAsking] = useState(false);
  const client = useQueryClient();
  const navigate = useNavigate();
  const remove = async (): Promise<void> => {
    await request("DELETE", `${ADMIN}/flags/${flag.id}`, { version: flag.version });
    await navigate({ to: "/" });
    await client.invalidateQueries({ queryKey: ["flags"] });
  };
  return (
    <Panel padded tone="bad" className="narrow">
      <Stack gap={12} align="start">
        <div>
          <h2>{texts.flag.deleteTitle}</h2>
          <p className="soft">{texts.flag.deleteWhat}</p>
        </div>
        <Button onClick={() => setAsking(true)}>
          <Trash2 aria-hidden size={16} /> {texts.flag.delete}
        </Button>
      </Stack>
      <DeleteDialog
        open={isAsking}
        onClose={() => setAsking(false)}
        name={flag.name}
        what={texts.flag.deleteWhat}
        confirm={texts.flag.delete}
        typed={flag.key}
        onDelete={remove}
      />
    </Panel>
  );
}
