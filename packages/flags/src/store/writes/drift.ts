/** The fields that a plan touches, and whether others have changed them since. */
import { isPlainObject, type JsonValue } from "../../engine/json.ts";
import { canonicalJson } from "../../model/canonical-json.ts";
import { type Field, isChangeable } from "../../model/fields.ts";
import type { PlanConflict } from "../../model/plan.ts";
import type { DraftChange, DraftFlagChange } from "../../model/plan-input.ts";
import { RULE_FIELDS } from "../../model/rule.ts";
import { conflict } from "../rows/entity.ts";
import type { Contents } from "../snapshot/entities.ts";

/** A field with its value before the plan, and the id of its flag or segment. */
export type Touched = Omit<PlanConflict, "theirs"> & { readonly id: string };

/** What deleting a rule touches: all that the rule decides. */
const DECIDING = Object.entries<Field>(RULE_FIELDS).flatMap(([name, field]) =>
  isChangeable(field) && name !== "name" ? [name] : [],
);

export function touchedBy(contents: Contents, changes: readonly DraftChange[]): Touched[] {
  return changes.flatMap((change) => {
    const { id } = change;
    if (change.kind === "flag") return touchedByFlag(contents, change);
    return fieldsOf(contents, { id, segmentKey: contents.segments.get(id)?.key ?? "" }, change.fields);
  });
}

function touchedByFlag(contents: Contents, { id, fields, rules, overrides }: DraftFlagChange): Touched[] {
  const flag = { id, flagKey: contents.flags.get(id)?.key ?? "" };
  const users = new Map([...(contents.overrides.get(id) ?? [])].map(([userId, one]) => [one.id, userId]));
  const deleted = Object.fromEntries(DECIDING.map((name) => [name, null]));
  return [
    ...fieldsOf(contents, flag, fields),
    ...rules.update.flatMap((rule) => fieldsOf(contents, { ...flag, ruleId: rule.id }, rule.fields)),
    ...rules.delete.flatMap((rule) => fieldsOf(contents, { ...flag, ruleId: rule.id }, deleted)),
    ...overrides.create.flatMap(({ userId, value }) => fieldsOf(contents, { ...flag, userId }, { value })),
    ...overrides.delete.flatMap((overrideId) => {
      const userId = users.get(overrideId);
      return userId === undefined ? [] : fieldsOf(contents, { ...flag, userId }, { value: null });
    }),
  ];
}

type Place = Omit<Touched, "field" | "base" | "yours">;

function fieldsOf(contents: Contents, place: Place, patch: object): Touched[] {
  return Object.entries(patch).flatMap(([field, yours]) => {
    if (yours === undefined) return [];
    if (field === "environments" && isPlainObject(yours)) return settingsOf(contents, place, yours);
    return [{ ...place, field, base: valueIn(contents, place, field), yours }];
  });
}

/** A change of environments concerns only those that it names, and of these only the settings that it has. */
function settingsOf(contents: Contents, place: Place, environments: object): Touched[] {
  return Object.entries(environments).flatMap(([environment, settings]) =>
    fieldsOf(contents, { ...place, environment }, settings ?? { environments: null }),
  );
}

function valueIn(contents: Contents, place: Place, field: string): JsonValue {
  return new Map<string, JsonValue>(Object.entries(entityAt(contents, place) ?? {})).get(field) ?? null;
}

function entityAt(
  { flags, rules, segments, overrides }: Contents,
  { id, segmentKey, ruleId, userId, environment }: Place,
): object | undefined {
  if (segmentKey !== undefined) return segments.get(id);
  if (ruleId !== undefined) return rules.get(id)?.get(ruleId);
  if (userId !== undefined) return overrides.get(id)?.get(userId);
  const flag = flags.get(id);
  if (environment === undefined) return flag;
  const settings = new Map(Object.entries(flag?.environments ?? {})).get(environment);
  return settings && { ...settings, environments: settings };
}

/** Throws if a touched field has another value than before. */
export function refuseConflicts(contents: Contents, touched: readonly Touched[]): void {
  const conflicts = touched.flatMap(({ id, field, base, yours, ...place }): PlanConflict[] => {
    const theirs = valueIn(contents, { id, ...place }, field);
    return canonicalJson(theirs) === canonicalJson(base) ? [] : [{ ...place, field, base, theirs, yours }];
  });
  if (conflicts.length === 0) return;
  const names = conflicts.map((one) => `${one.field} of ${one.flagKey ?? one.segmentKey}`);
  throw conflict(
    `The plan is out of date, because ${names.slice(0, MAX_NAMED).join(", ")} changed after it was made. Plan again.`,
    { conflicts },
  );
}

/** Fields that a message names. */
const MAX_NAMED = 5;
