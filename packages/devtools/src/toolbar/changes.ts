/** The changes of values since the toolbar was mounted, newest first. */
import type { ClientSeam } from "@halyard/flags/unstable-devtools";
import { element } from "./dom.ts";
import { findFlag, textOf } from "./shown-flag.ts";

export interface Change {
  readonly key: string;
  readonly text: string;
}

const MAX_CHANGES = 50;
const MAX_VALUE_TEXT = 80;
const MISSING = "not on the server";

export interface ChangeLog {
  /** A list element with all changes. */
  readonly element: HTMLElement;
  count(): number;
  /** Compares these flags with their last known value, and returns what changed. */
  see(keys: readonly string[]): Change[];
}

export function createChangeLog(seam: ClientSeam): ChangeLog {
  const { values } = seam;
  const list = element("ol", { class: "changes" });
  /** By key: the text of the value. Undefined until values are loaded. */
  let known: Map<string, string> | undefined;

  function see(keys: readonly string[]): Change[] {
    if (values.status() === "loading" || values.status() === "error") {
      // The user or the context changed. Values of another user are not changes.
      known = undefined;
      return [];
    }
    if (known === undefined) {
      known = new Map(Object.keys(values.all()).map((key) => [key, shortText(seam, key)]));
      return [];
    }
    const changes: Change[] = [];
    for (const key of keys) {
      const [before = MISSING, after] = [known.get(key), shortText(seam, key)];
      known.set(key, after);
      if (before !== after) changes.push({ key, text: `${before} → ${after}` });
    }
    for (const change of changes) add(change);
    return changes;
  }

  function add({ key, text }: Change): void {
    const now = new Date();
    const time = element("time", { datetime: now.toISOString() }, now.toLocaleTimeString());
    list.prepend(element("li", {}, time, element("span", { class: "key" }, key), element("code", {}, text)));
    if (list.children.length > MAX_CHANGES) list.lastElementChild?.remove();
  }

  see([]);
  return { element: list, count: () => list.children.length, see };
}

function shortText(seam: ClientSeam, key: string): string {
  const { value, isOverridden, evaluated } = findFlag(seam, key);
  if (evaluated === undefined && !isOverridden) return MISSING;
  const text = textOf(value);
  const short = text.length > MAX_VALUE_TEXT ? `${text.slice(0, MAX_VALUE_TEXT)}…` : text;
  return isOverridden ? `${short} (local)` : short;
}
