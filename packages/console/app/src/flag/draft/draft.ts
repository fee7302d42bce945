/**
 * What a person changes of a flag before it is saved. Each edit remembers the value that the person saw. The draft lies on
 * top of what is stored now, so changes of other people to other fields appear by themselves; a change to the same field
 * is a conflict until the person chooses.
 */
import type { JsonValue, Rule, RuleConditions } from "../../api/types.ts";
import {
  type Cell,
  isSame,
  keyOfCell,
  RULE_FIELDS,
  type RuleField,
  readCell,
  type Stored,
  writeCell,
} from "./cells.ts";
import { isOrderConflict, type OrderEdit, orderOf } from "./order.ts";

interface Edit {
  readonly cell: Cell;
  /** What the person saw. */
  readonly base: JsonValue | undefined;
  readonly value: JsonValue | undefined;
}

export interface Draft {
  readonly edits: ReadonlyMap<string, Edit>;
  /** New rules. Their ids are the draft's own. */
  readonly added: readonly Rule[];
  /** Stored rules with edits or a deletion, as the person saw them. */
  readonly seen: ReadonlyMap<string, Rule>;
  readonly deleted: ReadonlySet<string>;
  readonly order: OrderEdit | undefined;
  /** How many rules were added so far. */
  readonly count: number;
}

export const EMPTY_DRAFT: Draft = {
  edits: new Map(),
  added: [],
  seen: new Map(),
  deleted: new Set(),
  order: undefined,
  count: 0,
};

export type RuleContent = Partial<Pick<Rule, RuleField>>;

/** A new rule has one condition to fill in. */
export const FIRST_CONDITION: RuleConditions = {
  conditions: [{ attribute: "", operator: "equals", value: "" }],
};

export function isEmpty({ edits, added, deleted, order }: Draft): boolean {
  return edits.size === 0 && added.length === 0 && deleted.size === 0 && order === undefined;
}

/** Sets a cell. A value that is the stored one again is no edit. */
export function edit(draft: Draft, stored: Stored, cell: Cell, value: JsonValue | undefined): Draft {
  const { rule } = cell;
  const isAdded = (id: string): boolean => draft.added.some((one) => one.id === id);
  if (rule !== undefined && isAdded(rule)) {
    const { rules } = writeCell({ flag: stored.flag, rules: draft.added }, cell, value);
    return { ...draft, added: rules };
  }
  const key = keyOfCell(cell);
  const edits = new Map(draft.edits);
  const base = edits.has(key) ? edits.get(key)?.base : readCell(stored, cell);
  if (isSame(value, base) && isSame(value, readCell(stored, cell))) edits.delete(key);
  else edits.set(key, { cell, base, value });
  return { ...draft, edits, seen: seeing(draft, stored, rule) };
}

export function addRule(draft: Draft, stored: Stored, content: RuleContent): Draft {
  const id = `new-${draft.count + 1}`;
  const rule: Rule = {
    id,
    flagId: stored.flag.id,
    priority: 0,
    position: 0,
    version: 0,
    salt: id,
    createdAt: "",
    conditions: FIRST_CONDITION,
    enabled: true,
    ...content,
  };
  const order = draft.order && { ...draft.order, value: [...draft.order.value, id] };
  return { ...draft, added: [...draft.added, rule], order, count: draft.count + 1 };
}

/** A deleted rule of the draft is gone; a stored one is shown as deleted until it is saved. */
export function deleteRule(draft: Draft, stored: Stored, id: string): Draft {
  const edits = new Map([...draft.edits].filter(([, { cell }]) => cell.rule !== id));
  const rest = { ...draft, edits, added: draft.added.filter((one) => one.id !== id) };
  if (rest.added.length < draft.added.length) {
    const value = draft.order?.value.filter((one) => one !== id);
    return { ...rest, order: orderEdit(stored, draft.order?.base, value ?? []) };
  }
  const seen = draft.deleted.has(id) ? draft.seen : seeing(forget(draft, id), stored, id);
  return { ...rest, deleted: new Set([...draft.deleted, id]), seen };
}

export function restoreRule(draft: Draft, id: string): Draft {
  return { ...draft, deleted: new Set([...draft.deleted].filter((one) => one !== id)) };
}

export function moveRule(draft: Draft, stored: Stored, id: string, place: number): Draft {
  const order = ruleOrder(draft, stored).filter((one) => one !== id);
  order.splice(place, 0, id);
  return { ...draft, order: orderEdit(stored, draft.order?.base, order) };
}

/** Undefined if the order is the stored one, with new rules at the end. */
function orderEdit(
  { rules }: Stored,
  base: readonly string[] | undefined,
  value: readonly string[],
): OrderEdit | undefined {
  const now = rules.map(({ id }) => id);
  if (value.length === 0 || (isSame(base ?? now, now) && isSame(value.slice(0, now.length), now))) {
    return undefined;
  }
  return { base: base ?? now, value };
}

function seeing(draft: Draft, { rules }: Stored, id: string | undefined): Draft["seen"] {
  const rule = rules.find((one) => one.id === id);
  if (rule === undefined || draft.seen.has(rule.id)) return draft.seen;
  return new Map([...draft.seen, [rule.id, rule]]);
}

export function ruleOrder(draft: Draft, { rules }: Stored): string[] {
  return orderOf(
    draft.order,
    rules.map(({ id }) => id),
    draft.added.map(({ id }) => id),
  );
}

/** The flag and its rules as they would be. Deleted rules are still there: `draft.deleted` names them. */
export function applied(draft: Draft, stored: Stored): Stored {
  let next = stored;
  for (const { cell, value } of draft.edits.values()) next = writeCell(next, cell, value);
  const all = new Map([...next.rules, ...draft.added].map((rule) => [rule.id, rule]));
  return { flag: next.flag, rules: ruleOrder(draft, stored).flatMap((id) => all.get(id) ?? []) };
}

/** What another person has done to something that this draft changes. */
export type Conflict =
  | {
      readonly kind: "field";
      readonly cell: Cell;
      readonly base: Value;
      readonly theirs: Value;
      readonly yours: Value;
    }
  /** The draft changes a rule that another person deleted. */
  | { readonly kind: "gone"; readonly rule: Rule }
  /** The draft deletes a rule that another person changed. */
  | { readonly kind: "changed"; readonly rule: Rule; readonly seen: Rule }
  | { readonly kind: "order"; readonly theirs: readonly string[]; readonly yours: readonly string[] };
type Value = JsonValue | undefined;

export function conflictsOf(draft: Draft, stored: Stored): Conflict[] {
  const found: Conflict[] = [];
  const rules = new Map(stored.rules.map((rule) => [rule.id, rule]));
  for (const [id, seen] of draft.seen) {
    const rule = rules.get(id);
    const isEdited = [...draft.edits.values()].some(({ cell }) => cell.rule === id);
    if (rule === undefined && isEdited) found.push({ kind: "gone", rule: seen });
    const isOther = rule !== undefined && RULE_FIELDS.some((field) => !isSame(rule[field], seen[field]));
    if (isOther && draft.deleted.has(id)) found.push({ kind: "changed", rule, seen });
  }
  for (const { cell, base, value } of draft.edits.values()) {
    const isGone = cell.rule !== undefined && !rules.has(cell.rule);
    const theirs = readCell(stored, cell);
    if (!isGone && !isSame(theirs, base) && !isSame(theirs, value)) {
      found.push({ kind: "field", cell, base, theirs, yours: value });
    }
  }
  const now = stored.rules.map(({ id }) => id);
  if (draft.order !== undefined && isOrderConflict(draft.order, now)) {
    found.push({ kind: "order", theirs: now, yours: draft.order.value });
  }
  return found;
}

/** Gives up what the draft does to the subject of the conflict. */
export function takeTheirs(draft: Draft, conflict: Conflict): Draft {
  switch (conflict.kind) {
    case "field":
      return { ...draft, edits: without(draft.edits, keyOfCell(conflict.cell)) };
    case "gone":
      return forget(draft, conflict.rule.id);
    case "changed":
      return restoreRule(forget(draft, conflict.rule.id), conflict.rule.id);
    case "order":
      return { ...draft, order: undefined };
  }
}

/** Keeps what the draft does. The person has seen the other change. */
export function keepMine(draft: Draft, stored: Stored, conflict: Conflict): Draft {
  switch (conflict.kind) {
    case "field": {
      const { cell, theirs, yours } = conflict;
      return {
        ...draft,
        edits: new Map([...draft.edits, [keyOfCell(cell), { cell, base: theirs, value: yours }]]),
      };
    }
    case "gone": {
      // The rule is added again, as it was with the edits.
      const { rule } = conflict;
      let alone: Stored = { flag: stored.flag, rules: [rule] };
      for (const one of draft.edits.values()) alone = writeCell(alone, one.cell, one.value);
      const [content] = alone.rules;
      return addRule(forget(draft, rule.id), stored, contentOf(content ?? rule));
    }
    case "changed":
      return { ...draft, seen: new Map([...draft.seen, [conflict.rule.id, conflict.rule]]) };
    case "order":
      return { ...draft, order: { base: conflict.theirs, value: ruleOrder(draft, stored) } };
  }
}

/** The parts of a rule that a person sets. */
export function contentOf(rule: Rule): RuleContent {
  return Object.fromEntries(
    RULE_FIELDS.flatMap((field) => (rule[field] === undefined ? [] : [[field, rule[field]]])),
  );
}

function forget(draft: Draft, id: string): Draft {
  const edits = new Map([...draft.edits].filter(([, { cell }]) => cell.rule !== id));
  return { ...draft, edits, seen: without(draft.seen, id) };
}

function without<Value>(map: ReadonlyMap<string, Value>, key: string): ReadonlyMap<string, Value> {
  return new Map([...map].filter(([one]) => one !== key));
}
