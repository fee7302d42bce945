/** What an entry of the log did, as a sentence and as differences. */
import type { Entry, JsonValue, RuleConditions } from "../api/types.ts";
import { sentenceOf } from "../rules/sentence.ts";
import { texts } from "../texts.ts";
import { valueText } from "../ui/value.tsx";
import { type Difference, differencesOf } from "./difference.ts";

export interface EntryText {
  /** "turned on", "changed the rollout of", "deleted a rule of". */
  readonly did: string;
  /** The name of the flag or segment. */
  readonly what: string;
  readonly differences: readonly Difference[];
  /** Of a rule that was added or deleted. */
  readonly rule: string | undefined;
}

export function entryText({ action, before, after, flagKey }: Entry): EntryText {
  const differences = differencesOf(before, after);
  const name = fieldOf(after, "name") ?? fieldOf(before, "name");
  const key = fieldOf(after, "key") ?? fieldOf(before, "key");
  const isOwn = action.startsWith("flag.") || action.startsWith("segment.");
  const what = isOwn ? (name ?? key ?? flagKey) : flagKey;
  const isWhole = action === "rule.created" || action === "rule.deleted";
  return {
    did: didOf(action, differences),
    what,
    differences,
    rule: isWhole ? ruleSentence(after ?? before) : undefined,
  };
}

/** "user.plan is "pro": true to 50%". Undefined if the entry is not about a rule. */
function ruleSentence(rule: JsonValue): string | undefined {
  if (!isObject(rule) || !isConditions(rule["conditions"])) return undefined;
  const { conditions, value, variant, percentage } = rule;
  const served = typeof variant === "string" ? variant : valueText(value);
  return texts.history.rule(
    sentenceOf(conditions),
    typeof percentage === "number" ? `${served} ${texts.rules.forShare(percentage)}` : served,
  );
}

/** The value of a field, as people say it: "26%", "on", a rule as a sentence. */
export function fieldText(path: string, value: JsonValue): string {
  const field = path.split(".").at(-1) ?? path;
  if ((field === "rolloutPercentage" || field === "percentage") && typeof value === "number")
    return texts.percent(value);
  if (field === "enabled" && typeof value === "boolean") return value ? texts.history.on : texts.history.off;
  if (field === "conditions" && isConditions(value)) return sentenceOf(value);
  if (field === "variants" && Array.isArray(value)) return texts.history.variants(value.map(variantText));
  return valueText(value);
}

function variantText(variant: JsonValue): string {
  return isObject(variant) ? `${String(variant["key"])} ${String(variant["weight"])}` : valueText(variant);
}

/** "rollout in production". */
export function fieldLabel(path: string): string {
  const [root = "", environment, field] = path.split(".");
  if (root === "environments" && environment !== undefined)
    return texts.history.inEnvironment(
      field === undefined ? "" : (texts.fields[field] ?? field),
      environment,
    );
  return texts.fields[path] ?? texts.fields[root] ?? path;
}

function didOf(action: Entry["action"], differences: readonly Difference[]): string {
  const [only] = differences;
  if (action !== "flag.updated" || differences.length !== 1 || only === undefined)
    return texts.history.did[action];
  if (only.path === "enabled") return only.after === true ? texts.history.turnedOn : texts.history.turnedOff;
  return texts.history.changed(fieldLabel(only.path));
}

function fieldOf(entity: JsonValue, field: string): string | undefined {
  const value = isObject(entity) ? entity[field] : undefined;
  return typeof value === "string" ? value : undefined;
}

function isObject(value: JsonValue | undefined): value is { [name: string]: JsonValue } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Only its outer shape: the server stores no invalid conditions. */
function isConditions(value: unknown): value is RuleConditions {
  return (
    typeof value === "object" && value !== null && "conditions" in value && Array.isArray(value.conditions)
  );
}
