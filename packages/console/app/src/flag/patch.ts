/** Changes of a flag as data: applied for display, and turned around for Undo. */
import type { InfiniteData } from "@tanstack/react-query";
import type { FeatureFlagPatch, Flag, Page } from "../api/types.ts";

export type FlagPages = InfiniteData<{ flags: Flag[]; page: Page }>;

/** The flag after the change. `null` clears a field, except a value of a JSON flag. */
export function patched(flag: Flag, fields: FeatureFlagPatch): Flag {
  const next: Record<string, unknown> = { ...flag };
  for (const [name, value] of Object.entries(fields)) {
    const isValue = flag.type === "json" && (name === "defaultValue" || name === "offValue");
    if (value === null && !isValue) delete next[name];
    else next[name] = value;
  }
  return next as unknown as Flag;
}

/** The change that brings the fields back to what they are in `flag`. */
export function inversePatch(flag: Flag, fields: FeatureFlagPatch): FeatureFlagPatch {
  const current = flag as unknown as Record<string, unknown>;
  return Object.fromEntries(Object.keys(fields).map((name) => [name, current[name] ?? null]));
}
