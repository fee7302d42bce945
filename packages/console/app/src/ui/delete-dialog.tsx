/** Asks before something is deleted. Where the server refuses, it stays open and says why. */
import { useMutation } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useState } from "react";
import { texts } from "../texts.ts";
import { Button } from "./button.tsx";
import { Dialog, DialogFooter } from "./dialog.tsx";
import { Field } from "./field.tsx";
import { FormError } from "./states.tsx";
import { showToast } from "./toasts.tsx";

interface DeleteDialogProps {
  readonly open: boolean;
  readonly onClose: () => void;
  /** Of what is deleted. */
  readonly name: string;
  /** What happens. */
  readonly what: string;
  /** On the button. */
  readonly confirm: string;
  /** Has to be typed first. */
  readonly typed?: string;
  readonly onDelete: () => Promise<unknown>;
}

export function DeleteDialog(props: DeleteDialogProps): ReactNode {
  const { open, onClose, name, what } = props;
  return (
    <Dialog open={open} onClose={onClose} title={texts.common.deleteTitle(name)} description={what}>
      <Form {...props} />
    </Dialog>
  );
}

function Form({ name, confirm, typed: expected, onDelete, onClose }: DeleteDialogProps): ReactNode {
  const [typed, setTyped] = useState("");
  const remove = useMutation({
    mutationFn: onDelete,
    onSuccess: () => {
      showToast({ tone: "done", text: texts.common.deleted(name) });
      onClose();
    },
  });
  const isConfirmed = expected === undefined || typed === expected;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (isConfirmed) remove.mutate();
  };
  return (
    <form className="stack gap-16" onSubmit={submit}>
      {expected !== undefined && (
        <Field label={texts.common.typeToConfirm(expected)}>
          <input value={typed} autoComplete="off" onChange={({ target }) => setTyped(target.value)} />
        </Field>
      )}
      <FormError error={remove.error} />
      <DialogFooter>
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <Button type="submit" tone="danger" disabled={!isConfirmed} busy={remove.isPending}>
          {confirm}
        </Button>
      </DialogFooter>
    </form>
  );
}
