/** Takes a whole change back, after it has shown whom that moves. The server refuses when others changed the same since. */
import { useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { isStatus } from "../api/request.ts";
import type { Entry } from "../api/types.ts";
import { Impact } from "../flag/impact.tsx";
import { useCount } from "../flag/use-count.ts";
import { revertChange, useSave } from "../flag/use-save.ts";
import { texts } from "../texts.ts";
import { Button } from "../ui/button.tsx";
import { Dialog, DialogFooter } from "../ui/dialog.tsx";
import { FormError } from "../ui/states.tsx";
import { showToast } from "../ui/toasts.tsx";
import { differencesOf } from "./difference.ts";
import { Differences } from "./differences.tsx";

interface RevertDialogProps {
  readonly entry: Entry | undefined;
  readonly onClose: () => void;
}

export function RevertDialog({ entry, onClose }: RevertDialogProps): ReactNode {
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
  const { changeId } = entry;
  const subject = `${changeId} revert`;
  const input = { revert: { changeId } };
  const count = useCount(subject, input);
  const save = useSave(subject, {
    saveUncounted: () => revertChange(changeId),
    onSaved: () => {
      showToast({ tone: "done", text: texts.history.reverted });
      onClose();
      void client.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== "session" });
    },
  });
  const revert = (): void => save.mutate({ input, count });
  const refused = save.error ?? count.error;
  const fields = isStatus(refused, 409) ? fieldsOf(refused.details) : [];
  return (
    <>
      <Differences list={differencesOf(entry.after, entry.before)} />
      <Impact count={count} />
      <FormError error={save.error} />
      {fields.length > 0 && <p>{texts.history.revertConflict(fields)}</p>}
      <DialogFooter>
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <Button tone="primary" busy={save.isPending} disabled={isStatus(count.error, 409)} onClick={revert}>
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
