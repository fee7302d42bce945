/** The form that gives a flag a value in this client only. */

import type { JsonValue } from "@halyard/flags/client";
import { findMisfit } from "@halyard/flags/unstable-devtools";
import { button, element, setAttribute, setText } from "./dom.ts";
import { type ShownFlag, textOf } from "./shown-flag.ts";

export interface OverrideEditor {
  readonly element: HTMLElement;
  update(flag: ShownFlag): void;
}

export interface OverrideActions {
  override(key: string, value: JsonValue): void;
  clearOverride(key: string): void;
}

type Kind = "boolean" | "string" | "number" | "json";

let count = 0;

export function createOverrideEditor(flag: ShownFlag, actions: OverrideActions): OverrideEditor {
  const values = choicesOf(flag);
  return values ? createChoice(flag, values, actions) : createField(flag, actions);
}

/** The values that can be picked; undefined if the value is free. */
function choicesOf(flag: ShownFlag): readonly JsonValue[] | undefined {
  if (flag.declaration && flag.declaration.type !== "json" && flag.declaration.values)
    return flag.declaration.values;
  return kindOf(flag) === "boolean" ? [true, false] : undefined;
}

function kindOf({ declaration, evaluated, value }: ShownFlag): Kind {
  if (declaration) return declaration.type;
  const known = typeof (evaluated ? evaluated.value : value);
  return known === "boolean" || known === "string" || known === "number" ? known : "json";
}

/** Radio buttons: no override, and one for each value. */
function createChoice(
  { key }: ShownFlag,
  values: readonly JsonValue[],
  { override, clearOverride }: OverrideActions,
): OverrideEditor {
  const name = `choice-${++count}`;
  const option = (text: string, choose: () => void) => {
    const input = element("input", { type: "radio", name });
    input.addEventListener("change", choose);
    return { input, label: element("label", {}, input, element("span", {}, text)) };
  };
  const none = option("None", () => clearOverride(key));
  const others = values.map((value) => ({
    value,
    ...option(typeof value === "string" ? value : textOf(value), () => override(key, value)),
  }));
  return {
    element: element(
      "fieldset",
      { class: "choice" },
      element("legend", {}, "Local override"),
      element("div", { class: "segments" }, none.label, ...others.map(({ label }) => label)),
    ),
    update(flag) {
      none.input.checked = !flag.isOverridden;
      for (const { value, input } of others) input.checked = flag.isOverridden && flag.value === value;
    },
  };
}

/** A text field whose text is a string, a number or JSON. */
function createField(first: ShownFlag, { override, clearOverride }: OverrideActions): OverrideEditor {
  const { key, declaration } = first;
  const kind = kindOf(first);
  const id = `field-${++count}`;
  const field =
    kind === "json"
      ? element("textarea", { id, rows: "4", spellcheck: "false", autocomplete: "off" })
      : element("input", {
          id,
          type: "text",
          inputmode: kind === "number" ? "decimal" : undefined,
          spellcheck: "false",
          autocomplete: "off",
        });
  const problem = element("p", { id: `${id}-problem`, class: "problem", role: "alert" });
  const remove = button(
    { class: "plain" },
    () => {
      isEdited = false;
      clearOverride(key);
      field.focus();
    },
    "Remove",
  );
  const form = element(
    "form",
    { class: "field", novalidate: true },
    element("label", { for: id }, `Local override (${kind === "json" ? "JSON" : kind})`),
    field,
    problem,
    element(
      "div",
      { class: "actions" },
      element("button", { type: "submit", class: "primary" }, "Override"),
      remove,
    ),
  );
  let isEdited = false;

  function report(text: string): void {
    setText(problem, text);
    setAttribute(field, "aria-invalid", text !== "" && "true");
    setAttribute(field, "aria-describedby", text !== "" && problem.id);
  }

  field.addEventListener("input", () => {
    isEdited = true;
    report("");
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const value = parse(kind, field.value);
    if (value === undefined)
      return report(kind === "number" ? "This is not a number." : "This is not valid JSON.");
    const misfit = declaration && findMisfit(declaration, value);
    if (misfit !== undefined) return report(`This does not fit the declaration: the value${misfit}.`);
    isEdited = false;
    override(key, value);
  });
  return {
    element: form,
    update(flag) {
      remove.hidden = !flag.isOverridden;
      if (isEdited) return;
      report("");
      field.value = editable(kind, flag.value);
    },
  };
}

function editable(kind: Kind, value: JsonValue | undefined): string {
  if (value === undefined) return "";
  return kind === "string" && typeof value === "string"
    ? value
    : JSON.stringify(value, null, kind === "json" ? 2 : 0);
}

function parse(kind: Kind, text: string): JsonValue | undefined {
  if (kind === "string") return text;
  if (kind === "number")
    return text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
