/** The control frames about members. They are joined from the JSON texts of entries. */
import { CONTROL, type MembersChange } from "../../protocol/control.ts";
import type { Entry } from "./entry.ts";
import type { RosterChange } from "./roster.ts";

/** What a frame says besides its topic. */
export type MembersUpdate =
  | { readonly members: Iterable<Entry> }
  | { readonly change: RosterChange }
  | { readonly count: number };

export function encodeMembers(
  topic: string,
  update: MembersUpdate,
  isPartial: boolean,
  timestamp: number,
): string {
  const fields = [
    field("topic", JSON.stringify(topic)),
    ...fieldsOf(update),
    field("partial", String(isPartial)),
  ];
  return `{"type":"${CONTROL.members}","meta":{"timestamp":${timestamp}},"payload":{${fields.join(",")}}}`;
}

function fieldsOf(update: MembersUpdate): string[] {
  if ("count" in update) return [field("count", String(update.count))];
  if ("members" in update) return [field("members", listText(update.members))];
  const { joined, left } = update.change;
  return [field("joined", listText(joined)), field("left", JSON.stringify(left))];
}

function field(name: keyof MembersChange, text: string): string {
  return `"${name}":${text}`;
}

function listText(entries: Iterable<Entry>): string {
  const texts: string[] = [];
  for (const { text } of entries) texts.push(text);
  return `[${texts.join(",")}]`;
}
