/** Creates or edits a segment. A change shows whom it moves, by every flag whose rules name the segment. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useState } from "react";
import { ADMIN, scoped } from "../api/queries.ts";
import { request } from "../api/request.ts";
import type { RuleConditions, Segment } from "../api/types.ts";
import { isSame } from "../flag/draft/cells.ts";
import { FIRST_CONDITION } from "../flag/draft/draft.ts";
import { missingIn } from "../flag/draft/problems.ts";
import { Impact } from "../flag/impact.tsx";
import { planInput, useCount } from "../flag/use-count.ts";
import { useSave } from "../flag/use-save.ts";
import { keyOf } from "../flags/key-of.ts";
import { GroupEditor } from "../rules/group-editor.tsx";
import { useSession } from "../shell/session.tsx";
import { texts } from "../texts.ts";
import { Button } from "../ui/button.tsx";
import { Dialog, DialogFooter } from "../ui/dialog.tsx";
import { Field } from "../ui/field.tsx";
import { FormError } from "../ui/states.tsx";
import { showToast } from "../ui/toasts.tsx";

interface SegmentEditorProps {
  /** Undefined: a new one. */
  readonly segment: Segment | undefined;
  readonly segments: readonly Segment[];
  readonly onClose: () => void;
}

export function SegmentEditor(props: SegmentEditorProps): ReactNode {
  const { segment, onClose } = props;
  const title =
    segment === undefined ? texts.segments.create : texts.segments.edit(segment.name ?? segment.key);
  return (
    <Dialog open onClose={onClose} title={title} size="wide">
      <Form {...props} />
    </Dialog>
  );
}

function Form({ segment, segments, onClose }: SegmentEditorProps): ReactNode {
  const client = useQueryClient();
  const { multiTenant } = useSession();
  const [name, setName] = useState(segment?.name ?? "");
  const [conditions, setConditions] = useState<RuleConditions>(segment?.conditions ?? FIRST_CONDITION);
  const [isChecked, setChecked] = useState(false);
  const key = segment?.key ?? keyOf(name);
  const others = segments.filter((one) => one.id !== segment?.id);
  const isComplete = missingIn(conditions).length === 0;
  const fields = { name: name.trim() === "" ? null : name.trim(), conditions };
  const subject = `${segment?.id} segment`;
  const input = planInput([{ segmentId: segment?.id ?? "", version: segment?.version, fields }], []);
  const isCounted = segment !== undefined && isComplete && !isSame(conditions, segment.conditions);
  const count = useCount(subject, isCounted ? input : undefined);
  const done = async (): Promise<void> => {
    showToast({ tone: "done", text: texts.segments.saved });
    await client.invalidateQueries({ queryKey: ["segments"] });
    onClose();
  };
  const update = useSave(subject, {
    saveUncounted: () =>
      request("PATCH", `${ADMIN}/segments/${segment?.id ?? ""}`, { body: fields, version: segment?.version }),
    onSaved: () => void done(),
  });
  /** No rule names a new segment yet, and a name decides nothing: no user moves. */
  const write = useMutation({
    mutationFn: () => {
      const organization = multiTenant ? { organizationId: scoped({}).organizationId ?? "" } : {};
      return segment === undefined
        ? request("POST", `${ADMIN}/segments`, {
            body: { ...fields, key, name: name.trim(), ...organization },
          })
        : request("PATCH", `${ADMIN}/segments/${segment.id}`, { body: fields, version: segment.version });
    },
    onSuccess: done,
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setChecked(true);
    if (!isComplete) return;
    if (!isCounted) return write.mutate();
    update.mutate({ input, count });
  };
  return (
    <form className="stack gap-16" onSubmit={submit}>
      <Field label={texts.segments.name} hint={`${texts.newFlag.keyIs} ${key === "" ? "…" : key}`}>
        <input required maxLength={255} value={name} onChange={({ target }) => setName(target.value)} />
      </Field>
      <p className="name">{texts.segments.members}</p>
      <GroupEditor
        group={conditions}
        segments={others}
        onChange={setConditions}
        legend={texts.rules.if}
        usedValues={NO_VALUES}
        isChecked={isChecked}
      />
      {segment !== undefined && <p className="hint">{texts.segments.everywhere}</p>}
      {isCounted && <Impact count={count} otherwise={texts.impact.failedSave} />}
      <FormError error={update.error ?? write.error} />
      <DialogFooter>
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <Button type="submit" tone="primary" busy={update.isPending || write.isPending} disabled={key === ""}>
          {texts.segments.save}
        </Button>
      </DialogFooter>
    </form>
  );
}

const NO_VALUES: ReadonlyMap<string, readonly string[]> = new Map();
