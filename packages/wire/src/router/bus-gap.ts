/** Tells peers that something published to them may have been lost between servers. */
import { CONTROL, type Gap } from "../protocol/control.ts";
import { encodeShort } from "../protocol/encode-short.ts";
import type { Connection } from "./connection.ts";

/** Without a topic it means all of them. Who has no topics has missed nothing. */
export function tellBusGap(members: Iterable<Connection>, topic: string | undefined, wallMs: number): void {
  const gap: Gap = { ...(topic !== undefined && { topic }), reason: "bus" };
  const frame = encodeShort(CONTROL.gap, wallMs, undefined, gap);
  for (const connection of members) {
    if (connection.greets && (connection.topics?.size ?? 0) > 0) connection.sendFrame(frame);
  }
}
