/** What an entry of the log did, in a few words. */
import type { Entry, JsonValue } from "../api/types.ts";
import { texts } from "../texts.ts";
import { type Difference, differencesOf } from "./difference.ts";

export interface EntryText {
  /** "turned on", "changed the rollout of", "deleted a rule of". */
  readonly did: string;
  /** The name of the flag or segment. */
  readonly what: string;
  readonly differences: readonly Difference[];
}

export function entryText({ action, before, after, flagKey }: Entry): EntryText {
  const differences = differencesOf(before, after);
  const name = fieldOf(after, "name") ?? fieldOf(before, "name");
  const key = fieldOf(after, "key") ?? fieldOf(before, "key");
  const isOwn = action.startsWith("flag.") || action.startsWith("segment.");
  const what = isOwn ? (name ?? key ?? flagKey) : flagKey;
  return { did: didOf(action, differences), what, differences };
}

function didOf(action: Entry["action"], differences: readonly Difference[]): string {
  const [only] = differences;
  if (action !== "flag.updated" || differences.length !== 1 || only === undefined)
    return texts.history.did[action];
  if (only.path === "enabled") return only.after === true ? texts.history.turnedOn : texts.history.turnedOff;
  const root = only.path.split(".")[0] ?? only.path;
  return texts.history.changed(texts.fields[only.path] ?? texts.fields[root] ?? only.path);
}

function fieldOf(entity: JsonValue, field: string): string | undefined {
  if (typeof entity !== "object" || entity === null || Array.isArray(entity)) return undefined;
  const value = (entity as Readonly<Record<string, JsonValue>>)[field];
  return typeof value === "string" ? value : undefined;
}
