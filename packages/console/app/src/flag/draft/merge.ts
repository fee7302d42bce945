/** Brings together what a person saw of a flag, what the person made of it, and what is stored now. */
import type { JsonValue, Rule } from "../../api/types.ts";
import {
  type Cell,
  differences,
  hasSameContent,
  idsOf,
  inOrder,
  isNew,
  isSame,
  readCell,
  ruleIn,
  type Stored,
  withoutRule,
  withRule,
  writeCell,
} from "./cells.ts";

type Value = JsonValue | undefined;

/** What another person has done to something that this draft changes. */
export type Conflict =
  | {
      readonly kind: "field";
      readonly cell: Cell;
      readonly base: Value;
      readonly theirs: Value;
      readonly yours: Value;
    }
  /** The draft changes a rule that another person deleted: as the person saw it. */
  | { readonly kind: "gone"; readonly rule: Rule }
  /** The draft deletes a rule that another person changed: as it is stored. */
  | { readonly kind: "changed"; readonly rule: Rule }
  | { readonly kind: "order"; readonly theirs: readonly string[]; readonly yours: readonly string[] };

interface States {
  /** As it is stored, except for what is in conflict: that is as the person saw it. */
  readonly base: Stored;
  /** As it would be, with the edited rules that another person deleted. */
  readonly mine: Stored;
}

interface Merged extends States {
  readonly conflicts: readonly Conflict[];
}

export function merged(stored: Stored, base: Stored, mine: Stored): Merged {
  const fields = mergedFields(stored, { base, mine });
  const rules = mergedRules(stored, { base, mine }, fields);
  return mergedOrder(stored, { base, mine }, rules);
}

function mergedFields(stored: Stored, { base, mine }: States): Merged {
  const conflicts: Conflict[] = [];
  let [seen, yours] = [stored, stored];
  for (const { cell, before, after } of differences(base, mine)) {
    const theirs = readCell(stored, cell);
    const isGone = cell.rule !== undefined && ruleIn(stored, cell.rule) === undefined;
    if (isGone || isSame(theirs, after)) continue;
    yours = writeCell(yours, cell, after);
    if (isSame(theirs, before)) continue;
    seen = writeCell(seen, cell, before);
    conflicts.push({ kind: "field", cell, base: before, theirs, yours: after });
  }
  return { base: seen, mine: yours, conflicts };
}

/** New rules, and rules that one of both deleted. */
function mergedRules(stored: Stored, { base, mine }: States, merging: Merged): Merged {
  const conflicts = [...merging.conflicts];
  let { base: seen, mine: yours } = merging;
  for (const rule of base.rules) {
    const [ofMine, theirs] = [ruleIn(mine, rule.id), ruleIn(stored, rule.id)];
    if (theirs === undefined && ofMine !== undefined && !hasSameContent(rule, ofMine)) {
      conflicts.push({ kind: "gone", rule });
      [seen, yours] = [withRule(seen, rule), withRule(yours, ofMine)];
    }
    if (theirs === undefined || ofMine !== undefined) continue;
    yours = withoutRule(yours, rule.id);
    if (hasSameContent(rule, theirs)) continue;
    conflicts.push({ kind: "changed", rule: theirs });
    seen = withRule(seen, rule);
  }
  for (const rule of mine.rules) if (isNew(rule.id)) yours = withRule(yours, rule);
  return { base: seen, mine: yours, conflicts };
}

/** Two orders are in conflict if both move the same rules, in different ways. */
function mergedOrder(stored: Stored, { base, mine }: States, merging: Merged): Merged {
  const [seen, yours, now] = [idsOf(base), idsOf(mine), idsOf(stored)];
  const all = [seen, yours, now];
  const [before, after, theirs] = all.map((ids) => ids.filter((id) => all.every((one) => one.includes(id))));
  const isMoved = !isSame(before, after);
  const isConflict = isMoved && !isSame(before, theirs) && !isSame(after, theirs);
  // Who moved no stored rule follows what another person did with them. New rules at the end stay there.
  const end = yours.findLastIndex((id) => !isNew(id)) + 1;
  const placed = yours.slice(0, end);
  const order = isMoved ? weave(placed, now) : weave(now, placed);
  return {
    base: isConflict ? inOrder(merging.base, weave(seen, now)) : merging.base,
    mine: inOrder(merging.mine, [...order, ...yours.slice(end)]),
    conflicts: isConflict ? [...merging.conflicts, { kind: "order", theirs: now, yours }] : merging.conflicts,
  };
}

/** `first`, and what only `second` has behind the one that it follows there. */
export function weave(first: readonly string[], second: readonly string[]): string[] {
  const order = [...first];
  for (const [place, id] of second.entries()) {
    if (order.includes(id)) continue;
    const before = second.slice(0, place).findLast((one) => order.includes(one));
    order.splice(before === undefined ? 0 : order.indexOf(before) + 1, 0, id);
  }
  return order;
}
