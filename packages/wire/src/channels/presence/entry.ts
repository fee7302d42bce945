/** A member of a channel, as processes store and exchange it. */
import { WsError } from "../../protocol/error.ts";
import type { AnyMember } from "../../schema/channel.ts";

/** One member in one process. */
export interface Entry {
  readonly key: string;
  /** Wall time of the join in ms. Of two processes with the same key, the later join is shown. */
  readonly at: number;
  /** The member as JSON text, so that frames are joined from texts and memory is counted in bytes. */
  readonly text: string;
}

/** A member is one JSON object of at most this many characters. A list of 1,000 then fits into one frame. */
export const MAX_MEMBER_LENGTH = 2_048;
export const MAX_KEY_LENGTH = 256;

export function createEntry(member: AnyMember, at: number): Entry {
  return { key: member.key, at, text: JSON.stringify(member) };
}

/** Whether a later join changes nothing that peers see. */
export function isSame(a: Entry | undefined, b: Entry | undefined): boolean {
  return a?.text === b?.text;
}

export function memberOf({ text }: Entry): AnyMember {
  return JSON.parse(text) as AnyMember;
}

/** Throws for a member that the application made too large, or without a usable key. */
export function checkEntry({ key, text }: Entry): void {
  if (typeof key !== "string" || key === "" || key.length > MAX_KEY_LENGTH)
    throw new WsError(
      "INTERNAL",
      `presence returned a key that is not a string of 1 to ${MAX_KEY_LENGTH} characters. Return the id of the user, for example.`,
    );
  if (text.length > MAX_MEMBER_LENGTH)
    throw new WsError(
      "INTERNAL",
      `presence returned a member of ${text.length} characters as JSON; the limit is ${MAX_MEMBER_LENGTH}. Return fewer fields, and load details by key.`,
    );
}
