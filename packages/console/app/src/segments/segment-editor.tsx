/** Creates or edits a segment. A change concerns every rule that names it. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useState } from "react";
import { ADMIN, scoped } from "../api/queries.ts";
import { request } from "../api/request.ts";
import type { RuleConditions, Segment } from "../api/types.ts";
import { keyOf } from "../flags/key-of.ts";
import { GroupEditor } from "../rules/group-editor.tsx";
import { Matches } from "../rules/matches.tsx";
import { sentenceOf } from "../rules/sentence.ts";
import { useSession } from "../shell/session.tsx";
import { texts } from "../texts.ts";
import { Dialog } from "../ui/dialog.tsx";
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
  const [conditions, setConditions] = useState<RuleConditions>(
    segment?.conditions ?? { conditions: [{ attribute: "email", operator: "ends_with", value: "" }] },
  );
  const key = segment?.key ?? keyOf(name);
  const others = segments.filter((one) => one.id !== segment?.id);
  const save = useMutation({
    mutationFn: () => {
      const organization = multiTenant ? { organizationId: scoped({}).organizationId ?? "" } : {};
      return segment === undefined
        ? request("POST", `${ADMIN}/segments`, {
            body: { key, name: name.trim(), conditions, ...organization },
          })
        : request("PATCH", `${ADMIN}/segments/${segment.id}`, {
            body: { name: name.trim() === "" ? null : name.trim(), conditions },
            version: segment.version,
          });
    },
    onSuccess: async ({ warnings = [] }) => {
      for (const { message } of warnings) showToast({ tone: "problem", text: message });
      showToast({ tone: "done", text: texts.segments.saved });
      await client.invalidateQueries({ queryKey: ["segments"] });
      onClose();
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    save.mutate();
  };
  return (
    <form className="form" onSubmit={submit}>
      <Field label={texts.segments.name} hint={`${texts.newFlag.keyIs} ${key === "" ? "…" : key}`}>
        <input required maxLength={255} value={name} onChange={({ target }) => setName(target.value)} />
      </Field>
      <GroupEditor
        group={conditions}
        segments={others}
        onChange={setConditions}
        legend={texts.segments.members}
      />
      <div className="sentence">
        <p>{sentenceOf(conditions, (one) => segments.find((other) => other.key === one)?.name)}</p>
        <Matches conditions={conditions} />
      </div>
      {segment !== undefined && <p className="notice notice-warning">{texts.segments.everywhere}</p>}
      <FormError error={save.error} />
      <footer className="dialog-footer">
        <button type="button" className="button" onClick={onClose}>
          {texts.common.cancel}
        </button>
        <button type="submit" className="button button-primary" disabled={save.isPending || key === ""}>
          {texts.segments.save}
        </button>
      </footer>
    </form>
  );
}
