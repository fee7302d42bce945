/** The order of a flag's rules, when two people change it at the same time. */
import { isSame } from "./cells.ts";

/** A new order, and the one that was seen when it was made. Both are ids. */
export interface OrderEdit {
  readonly base: readonly string[];
  readonly value: readonly string[];
}

/** Whether both orders move the same rules, in different ways. */
export function isOrderConflict({ base, value }: OrderEdit, stored: readonly string[]): boolean {
  const common = new Set(base.filter((id) => stored.includes(id)));
  const mine = value.filter((id) => common.has(id));
  const theirs = stored.filter((id) => common.has(id));
  const before = base.filter((id) => common.has(id));
  return !isSame(mine, theirs) && !isSame(mine, before) && !isSame(theirs, before);
}

/**
 * The order of all rules. `added` are those of the draft, at the end until they are moved. A rule that the edit did not
 * know goes behind the one that it follows in the stored order.
 */
export function orderOf(
  edit: OrderEdit | undefined,
  stored: readonly string[],
  added: readonly string[],
): string[] {
  if (edit === undefined) return [...stored, ...added];
  const known = edit.base.filter((id) => stored.includes(id));
  const isOnlyPlacing = isSame(
    edit.value.filter((id) => known.includes(id)),
    known,
  );
  // Who only placed new rules follows what another person did with the others.
  const [first, second] = isOnlyPlacing ? [stored, edit.value] : [edit.value, stored];
  const all = [...stored, ...added];
  const order = first.filter((id) => all.includes(id));
  for (const [place, id] of [...second, ...added].entries()) {
    if (order.includes(id) || !all.includes(id)) continue;
    const before = second.slice(0, place).findLast((one) => order.includes(one));
    const isAtEnd = place >= second.length;
    order.splice(isAtEnd ? order.length : before === undefined ? 0 : order.indexOf(before) + 1, 0, id);
  }
  return order;
}
