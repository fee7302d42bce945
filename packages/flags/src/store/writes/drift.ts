/** The fields that a plan touches, and whether others have changed them since. */
import { isJsonValue, type JsonValue } from "../../engine/json.ts";
import { canonicalJson } from "../../model/canonical-json.ts";
import { type Field, isChangeable } from "../../model/fields.ts";
import { partsOf, valueAt } from "../../model/parts.ts";
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

/** A change of environments touches only the settings that it has. */
function fieldsOf(contents: Contents, place: Place, patch: object): Touched[] {
  return [...partsOf(patch)].flatMap(([field, yours]) =>
    isJsonValue(yours) ? [{ ...place, field, base: valueIn(contents, place, field), yours }] : [],
  );
}

function valueIn(contents: Contents, place: Place, field: string): JsonValue {
  const value = valueAt(entityAt(contents, place) ?? {}, field);
  return isJsonValue(value) ? value : null;
}

function entityAt(
  { flags, rules, segments, overrides }: Contents,
  { id, segmentKey, ruleId, userId }: Place,
): object | undefined {
  if (segmentKey !== undefined) return segments.get(id);
  if (ruleId !== undefined) return rules.get(id)?.get(ruleId);
  return userId === undefined ? flags.get(id) : overrides.get(id)?.get(userId);
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
