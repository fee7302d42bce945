/** One flag in the list: a line with its value, which unfolds to the reason, the override and the steps of the server. */
import type { ClientSeam } from "@halyard/flags/unstable-devtools";
import { button, element, icon, setAttribute, setText } from "./dom.ts";
import { explain } from "./explanation.ts";
import { createOverrideEditor, type OverrideActions, type OverrideEditor } from "./override-editor.ts";
import { type ShownFlag, textOf, whyOf } from "./shown-flag.ts";

export interface FlagRow {
  readonly element: HTMLElement;
  update(flag: ShownFlag): void;
  /** Marks the row for a moment, because its value has changed. */
  flash(): void;
}

interface Details {
  readonly element: HTMLElement;
  update(flag: ShownFlag): void;
}

let count = 0;

export function createFlagRow(first: ShownFlag, seam: ClientSeam, actions: OverrideActions): FlagRow {
  const id = `flag-${++count}`;
  let flag = first;
  let details: Details | undefined;

  const value = element("code", { class: "value" });
  const why = element("span", { class: "why" });
  const header = button(
    { class: "row", "aria-expanded": "false", "aria-controls": id },
    toggle,
    icon("chevron"),
    element("span", { class: "key" }, first.key),
    why,
    value,
  );
  const body = element("div", { id, class: "body", hidden: true });
  const item = element("li", { class: "flag" }, header, body);

  function toggle(): void {
    const isOpen = body.hidden;
    header.setAttribute("aria-expanded", String(isOpen));
    body.hidden = !isOpen;
    // Built again at each opening, so that the steps are those of now.
    details = isOpen ? createDetails(flag, seam, actions) : undefined;
    details?.update(flag);
    body.replaceChildren(...(details ? [details.element] : []));
  }

  return {
    element: item,
    update(next) {
      flag = next;
      setText(value, textOf(flag.value));
      setAttribute(value, "data-value", typeof flag.value === "boolean" && String(flag.value));
      setText(why, flag.isOverridden ? "local override" : whyOf(flag).label);
      setAttribute(item, "data-overridden", flag.isOverridden);
      details?.update(flag);
    },
    flash() {
      item.classList.remove("flash");
      // Reading a size makes the browser start the animation again.
      void item.offsetWidth;
      item.classList.add("flash");
    },
  };
}

function createDetails({ key }: ShownFlag, seam: ClientSeam, actions: OverrideActions): Details {
  const sentence = element("p", { class: "sentence" });
  const underneath = element("p", { class: "sentence" });
  const editing = element("div", {});
  const steps = element("div", { class: "explanation", "aria-live": "polite" });
  let editor: OverrideEditor | undefined;
  let explained: ShownFlag["evaluated"] | null = null;

  function update(flag: ShownFlag): void {
    const { evaluated, isOverridden } = flag;
    const why = whyOf(flag).sentence;
    setText(
      sentence,
      isOverridden ? "This page overrides the flag. Other pages and the server do not see it." : why,
    );
    const server = evaluated ? `The server's value is ${textOf(evaluated.value)}. ` : "";
    setText(underneath, isOverridden ? server + why : "");
    underneath.hidden = !isOverridden;
    if (editor === undefined) {
      editor = createOverrideEditor(flag, actions);
      editing.replaceChildren(editor.element);
    }
    editor.update(flag);
    if (evaluated !== explained) void showSteps(evaluated);
  }

  /** Unchanged states keep their object identity, so another object is another evaluation. */
  async function showSteps(evaluated: ShownFlag["evaluated"]): Promise<void> {
    explained = evaluated;
    if (evaluated === undefined) return steps.replaceChildren();
    const shown = await explain(seam, key);
    if (explained === evaluated) steps.replaceChildren(element("h3", {}, "On the server"), shown);
  }

  return {
    element: element("div", { class: "details" }, sentence, underneath, editing, steps),
    update,
  };
}
