/** What the toolbar keeps in this tab until it is closed: overrides, and whether the panel is open. */
import type { JsonValue } from "@halyard/flags/client";

export interface Stored {
  readonly isOpen: boolean;
  readonly overrides: ReadonlyMap<string, JsonValue>;
}

const NAME = "halyard-flags-toolbar";

export function readStored(): Stored {
  try {
    const given: unknown = JSON.parse(sessionStorage.getItem(NAME) ?? "{}");
    const { isOpen, overrides } = given as { isOpen?: unknown; overrides?: unknown };
    const entries = Array.isArray(overrides) ? overrides.filter(isEntry) : [];
    return { isOpen: isOpen === true, overrides: new Map(entries) };
  } catch {
    // The page has no storage, or other code wrote to it.
    return { isOpen: false, overrides: new Map() };
  }
}

/** Without storage, the state lasts until the page is reloaded. */
export function writeStored({ isOpen, overrides }: Stored): void {
  try {
    sessionStorage.setItem(NAME, JSON.stringify({ isOpen, overrides: [...overrides] }));
  } catch {
    // The page has no storage, or it is full.
  }
}

function isEntry(given: unknown): given is [string, JsonValue] {
  return Array.isArray(given) && typeof given[0] === "string" && given.length === 2;
}
