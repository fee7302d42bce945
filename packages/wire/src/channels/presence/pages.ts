/** Pages of a member list, in the order of keys. */
import type { AnyMember, MemberPage, MemberPageOptions } from "../../schema/channel.ts";
import { memberOf } from "./entry.ts";
import type { MemberLists } from "./member-lists.ts";

/** The keys of a list that changes all the time are sorted at most this often; members who left are skipped. */
const SORT_EVERY_MS = 1_000;

export interface SortedKeys {
  readonly keys: readonly string[];
  /** Monotonic time in ms. */
  readonly at: number;
  /** Whether the list has changed since. */
  isOld: boolean;
}

/** Sorts the keys of a topic, unless the order from before can still be used. */
export function sortKeys(
  lists: MemberLists,
  topic: string,
  before: SortedKeys | undefined,
  isLong: boolean,
  now: number,
): SortedKeys {
  const isUsable = before !== undefined && (!before.isOld || (isLong && now - before.at < SORT_EVERY_MS));
  return isUsable ? before : { keys: [...lists.list(topic).keys()].sort(), at: now, isOld: false };
}

/** At most `most` members and `maxLength` characters. */
export function pageOf(
  lists: MemberLists,
  topic: string,
  keys: readonly string[],
  after: MemberPageOptions["after"],
  most: number,
  maxLength: number,
): Pick<MemberPage, "members" | "next"> {
  const members: AnyMember[] = [];
  let length = 0;
  for (let at = after === undefined ? 0 : indexAfter(keys, after); at < keys.length; at++) {
    const entry = lists.shown(topic, keys[at] ?? "");
    if (entry === undefined) continue;
    length += entry.text.length;
    const last = members.at(-1);
    if (last !== undefined && (members.length >= most || length > maxLength))
      return { members, next: last.key };
    members.push(memberOf(entry));
  }
  return { members };
}

/** The index of the first key after this one. */
function indexAfter(keys: readonly string[], after: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((keys[middle] ?? "") <= after) low = middle + 1;
    else high = middle;
  }
  return low;
}
