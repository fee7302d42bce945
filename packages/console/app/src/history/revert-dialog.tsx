/** Takes one change back. The server refuses when later changes touched the same fields, and names them. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { ADMIN } from "../api/queries.ts";
import { isStatus, request } from "../api/request.ts";
import type { Entry } from "../api/types.ts";
import { texts } from "../texts.ts";
import { Button } from "../ui/button.tsx";
import { Dialog, DialogFooter } from "../ui/dialog.tsx";
import { FormError } from "../ui/states.tsx";
import { showToast } from "../ui/toasts.tsx";
import { differencesOf } from "./difference.ts";
import { Differences } from "./differences.tsx";

export function RevertDialog({
  entry,
  onClose,
}: {
  entry: Entry | undefined;
  onClose: () => void;
}): ReactNode {
  return (
    <Dialog
      open={entry !== undefined}
      onClose={onClose}
      title={texts.history.revertTitle}
      description={texts.history.revertWhat}
    >
      {entry && <Confirmation entry={entry} onClose={onClose} />}
    </Dialog>
  );
}

function Confirmation({ entry, onClose }: { entry: Entry; onClose: () => void }): ReactNode {
  const client = useQueryClient();
  const revert = useMutation({
    mutationFn: () => request("POST", `${ADMIN}/audit/${entry.id}/revert`, { body: {} }),
    onSuccess: async () => {
      showToast({ tone: "done", text: texts.history.reverted });
      onClose();
      await client.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== "session" });
    },
  });
  const fields = isStatus(revert.error, 409) ? fieldsOf(revert.error.details) : [];
  return (
    <>
      <Differences list={differencesOf(entry.after, entry.before)} />
      <FormError error={revert.error} />
      {fields.length > 0 && <p>{texts.history.revertConflict(fields)}</p>}
      <DialogFooter>
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <Button tone="primary" busy={revert.isPending} onClick={() => revert.mutate()}>
          {texts.history.revert}
        </Button>
      </DialogFooter>
    </>
  );
}

function fieldsOf(details: unknown): string[] {
  const fields =
    typeof details === "object" && details !== null ? (details as { fields?: unknown }).fields : undefined;
  return Array.isArray(fields) ? fields.filter((field) => typeof field === "string") : [];
}
