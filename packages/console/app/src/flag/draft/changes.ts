/** The changes of a draft: how many, in which environments, and as the input of a plan. */
import type { JsonValue, PlannedFlagChange, Rule } from "../../api/types.ts";
import { type Cell, ENVIRONMENT_FIELDS, isSame, RULE_FIELDS, readCell, type Stored } from "./cells.ts";
import { applied, contentOf, type Draft, ruleOrder } from "./draft.ts";

type Value = JsonValue | undefined;

/** One change as people count them: a field, or a rule with all of its fields. */
export type Change =
  | { readonly kind: "field"; readonly cell: Cell; readonly before: Value; readonly after: Value }
  | { readonly kind: "added" | "deleted"; readonly rule: Rule }
  | { readonly kind: "edited"; readonly before: Rule; readonly after: Rule }
  | { readonly kind: "order" };

export function changesOf(draft: Draft, stored: Stored): Change[] {
  const next = applied(draft, stored);
  const fields = [...draft.edits.values()].flatMap(({ cell }): Change[] => {
    if (cell.rule !== undefined) return [];
    const [before, after] = [readCell(stored, cell), readCell(next, cell)];
    return isSame(before, after) ? [] : [{ kind: "field", cell, before, after }];
  });
  const rules = stored.rules.flatMap((before): Change[] => {
    if (draft.deleted.has(before.id)) return [{ kind: "deleted", rule: before }];
    const after = next.rules.find(({ id }) => id === before.id);
    if (after === undefined || isSame(contentOf(before), contentOf(after))) return [];
    return [{ kind: "edited", before, after }];
  });
  const added = draft.added.map((rule): Change => ({ kind: "added", rule }));
  return [...fields, ...rules, ...added, ...(isReordered(draft, stored) ? [{ kind: "order" } as const] : [])];
}

/** The environments in which a change can move people. Undefined: in none. */
export function environmentsOfChange(
  change: Change,
  { flag }: Stored,
  known: readonly string[],
): readonly string[] {
  switch (change.kind) {
    case "field": {
      const { field, environment } = change.cell;
      if (environment !== undefined) return [environment];
      const own = ENVIRONMENT_FIELDS.find((one) => one === field);
      if (own !== undefined) return known.filter((name) => flag.environments?.[name]?.[own] === undefined);
      return field === "variants" || field === "bucketBy" ? known : [];
    }
    case "added":
    case "deleted":
      return change.rule.environments ?? known;
    case "edited": {
      const named = [change.before.environments, change.after.environments];
      const { environments: _, ...others } = contentOf(change.after);
      if (isSame({ ...others, environments: named[0] }, contentOf(change.before))) {
        const [before = known, after = known] = named;
        return known.filter((name) => before.includes(name) !== after.includes(name));
      }
      return named.includes(undefined) ? known : [...new Set(named.flatMap((names) => names ?? []))];
    }
    case "order":
      return known;
  }
}

/** The draft as the input of a plan. It names the versions that the person saw. */
export function planOf(draft: Draft, stored: Stored): PlannedFlagChange {
  const next = applied(draft, stored);
  const changes = changesOf(draft, stored);
  const priorities = prioritiesOf(draft, stored);
  const update = stored.rules.flatMap((before) => {
    const after = next.rules.find(({ id }) => id === before.id);
    if (after === undefined || draft.deleted.has(before.id)) return [];
    const fields: Record<string, unknown> = {};
    for (const name of RULE_FIELDS) {
      // On a JSON flag, null is a value.
      const isKept = name === "value" && after.value === undefined && stored.flag.type === "json";
      if (!isKept && !isSame(before[name], after[name])) fields[name] = after[name] ?? null;
    }
    const priority = priorities.get(before.id);
    if (priority !== undefined && priority !== before.priority) fields["priority"] = priority;
    return Object.keys(fields).length === 0 ? [] : [{ id: before.id, version: before.version, fields }];
  });
  const create = next.rules.flatMap((rule) => {
    if (!draft.added.some(({ id }) => id === rule.id)) return [];
    const { conditions = { conditions: [] }, ...content } = contentOf(rule);
    return [{ ...content, conditions, priority: priorities.get(rule.id) ?? 1 }];
  });
  const remove = stored.rules
    .filter(({ id }) => draft.deleted.has(id))
    .map(({ id, version }) => ({ id, version }));
  const fields = fieldsOf(changes);
  return {
    flagId: stored.flag.id,
    version: stored.flag.version,
    ...(Object.keys(fields).length > 0 && { fields }),
    ...((create.length > 0 || update.length > 0 || remove.length > 0) && {
      rules: {
        ...(create.length > 0 && { create }),
        ...(update.length > 0 && { update }),
        ...(remove.length > 0 && { delete: remove }),
      },
    }),
  };
}

/** Environments are a merge patch, so changes that other people made to other environments stay. */
function fieldsOf(changes: readonly Change[]): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  const environments: Record<string, Record<string, unknown>> = {};
  for (const change of changes) {
    if (change.kind !== "field") continue;
    const { environment, field } = change.cell;
    if (environment === undefined) fields[field] = change.after ?? null;
    else environments[environment] = { ...environments[environment], [field]: change.after ?? null };
  }
  return Object.keys(environments).length === 0 ? fields : { ...fields, environments };
}

function isReordered(draft: Draft, { rules }: Stored): boolean {
  if (draft.order === undefined) return false;
  const now = [...rules, ...draft.added].map(({ id }) => id);
  return !isSame(now, ruleOrder(draft, { rules } as Stored));
}

/** The priorities of all rules if their order changes; else only those of new rules, after all others. */
function prioritiesOf(draft: Draft, stored: Stored): ReadonlyMap<string, number> {
  const kept = ruleOrder(draft, stored).filter((id) => !draft.deleted.has(id));
  if (isReordered(draft, stored)) return new Map(kept.map((id, place) => [id, place + 1]));
  const last = stored.rules.reduce((highest, { priority }) => Math.max(highest, priority), 0);
  return new Map(draft.added.map(({ id }, place) => [id, last + place + 1]));
}
