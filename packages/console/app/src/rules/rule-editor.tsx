/** Creates or edits a rule: conditions, the sentence that they make, how many users match, and what these get. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useState } from "react";
import { ADMIN } from "../api/queries.ts";
import { request } from "../api/request.ts";
import type { Flag, JsonValue, Rule, RuleConditions, Segment } from "../api/types.ts";
import { texts } from "../texts.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Field } from "../ui/field.tsx";
import { FormError } from "../ui/states.tsx";
import { showToast } from "../ui/toasts.tsx";
import { EMPTY_VALUES, ValueInput } from "../ui/value-input.tsx";
import { GroupEditor } from "./group-editor.tsx";
import { Matches } from "./matches.tsx";
import { sentenceOf } from "./sentence.ts";

interface RuleEditorProps {
  readonly flag: Flag;
  /** Undefined: a new one. */
  readonly rule: Rule | undefined;
  readonly nextPriority: number;
  readonly segments: readonly Segment[];
  readonly onClose: () => void;
}

export function RuleEditor(props: RuleEditorProps): ReactNode {
  return (
    <Dialog
      open
      onClose={props.onClose}
      title={props.rule === undefined ? texts.rules.add : texts.rules.editTitle}
      size="wide"
    >
      <Form {...props} />
    </Dialog>
  );
}

function Form({ flag, rule, nextPriority, segments, onClose }: RuleEditorProps): ReactNode {
  const client = useQueryClient();
  const variants = flag.variants ?? [];
  const [name, setName] = useState(rule?.name ?? "");
  const [conditions, setConditions] = useState<RuleConditions>(
    rule?.conditions ?? { conditions: [{ attribute: "email", operator: "ends_with", value: "" }] },
  );
  const [variant, setVariant] = useState(rule?.variant ?? "");
  const [value, setValue] = useState<JsonValue>(
    rule?.value ?? (flag.type === "boolean" ? true : EMPTY_VALUES[flag.type]),
  );
  const [percentage, setPercentage] = useState(rule?.percentage);
  const save = useMutation({
    mutationFn: () => {
      const isNew = rule === undefined;
      // A value of its own would go before that of the variant. On a JSON flag, null is a value.
      const served =
        variant === ""
          ? { value, ...(!isNew && { variant: null }) }
          : { variant, ...(!isNew && flag.type !== "json" && { value: null }) };
      const fields = {
        conditions,
        ...served,
        ...(name.trim() !== "" ? { name: name.trim() } : !isNew && { name: null }),
        ...(percentage !== undefined ? { percentage } : !isNew && { percentage: null }),
      };
      const path = `${ADMIN}/flags/${flag.id}/rules` as const;
      return isNew
        ? request("POST", path, { body: { ...fields, priority: nextPriority } })
        : request("PATCH", `${path}/${rule.id}`, { body: fields, version: rule.version });
    },
    onSuccess: async ({ warnings = [] }) => {
      for (const { message } of warnings) showToast({ tone: "problem", text: message });
      showToast({ tone: "done", text: texts.rules.saved });
      await Promise.all(
        ["rules", "flag", "entries", "explain", "person"].map((one) =>
          client.invalidateQueries({ queryKey: [one] }),
        ),
      );
      onClose();
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    save.mutate();
  };
  const nameOf = (key: string): string | undefined => segments.find((segment) => segment.key === key)?.name;
  return (
    <form className="form" onSubmit={submit}>
      <Field label={texts.rules.name}>
        <input
          value={name}
          maxLength={255}
          placeholder={texts.rules.nameHint}
          onChange={({ target }) => setName(target.value)}
        />
      </Field>
      <GroupEditor group={conditions} segments={segments} onChange={setConditions} legend={texts.rules.if} />
      <div className="sentence">
        <p>{sentenceOf(conditions, nameOf)}</p>
        <Matches conditions={conditions} />
      </div>
      <fieldset className="served">
        <legend>{texts.rules.serve}</legend>
        {variants.length > 0 && (
          <Field label={texts.rules.variant}>
            <select value={variant} onChange={({ target }) => setVariant(target.value)}>
              <option value="">{texts.rules.ownValue}</option>
              {variants.map(({ key }) => (
                <option key={key} value={key}>
                  {key}
                </option>
              ))}
            </select>
          </Field>
        )}
        {variant === "" && (
          <Field label={texts.rules.value}>
            <ValueInput type={flag.type} value={value} onChange={setValue} />
          </Field>
        )}
        <Field label={texts.rules.share} hint={texts.rules.shareHint}>
          <input
            type="number"
            min={0}
            max={100}
            step="any"
            placeholder="100"
            value={percentage ?? ""}
            onChange={({ target }) => setPercentage(target.value === "" ? undefined : target.valueAsNumber)}
          />
        </Field>
      </fieldset>
      <FormError error={save.error} />
      <footer className="dialog-footer">
        <button type="button" className="button" onClick={onClose}>
          {texts.common.cancel}
        </button>
        <button type="submit" className="button button-primary" disabled={save.isPending}>
          {texts.rules.save}
        </button>
      </footer>
    </form>
  );
}
