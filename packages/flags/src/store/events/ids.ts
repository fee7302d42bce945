/** Ids of users, visitors and other units, in the form that every database can index and compare; and ids with a time. */
import { murmur3 } from "../../engine/murmur.ts";
import { MAX_LINE, storableText } from "../../model/inputs.ts";

const PREFIX_LENGTH = 200;

/** The last long id that was shortened: one request often has many flags for one user. */
let lastLong = { id: "", short: "" };

/** Shortens long ids, so that a few callers cannot fill memory and database with them. */
export function storableId(id: string): string {
  if (id.length <= MAX_LINE) return storableText(id);
  if (lastLong.id !== id) lastLong = { id, short: shorten(id) };
  return lastLong.short;
}

function shorten(id: string): string {
  const hashes = [id, `…${id}`].map((text) => murmur3(text).toString(16).padStart(8, "0"));
  return `${storableText(id.slice(0, PREFIX_LENGTH))}…${hashes.join("")}`;
}

/** Sorts before every UUID v7 of this time or later, and after all earlier ones. */
export function idFloor(ms: number): string {
  const hex = Math.max(0, Math.floor(ms)).toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}`;
}
