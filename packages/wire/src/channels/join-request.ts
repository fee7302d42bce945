/** Reads the payload of `$ws:join`, which is not trusted. */
import { isObject } from "../protocol/checks.ts";
import type { Position } from "../protocol/control.ts";
import { WsError } from "../protocol/error.ts";
import type { ChannelHistory } from "../schema/channel.ts";
import type { JoinStart } from "./history-topic.ts";

const MAX_EPOCH_LENGTH = 128;

/** Where a join begins. Throws `INVALID_ARGUMENT` for a position or number that no client of this protocol sends. */
export function readStart(payload: unknown, { size }: ChannelHistory): JoinStart {
  const { position, last = 0 } = isObject(payload) ? payload : {};
  if (position !== undefined && !isPosition(position))
    throw new WsError(
      "INVALID_ARGUMENT",
      'The "position" of $ws:join is not an object with epoch and offset.',
    );
  if (!isCount(last))
    throw new WsError("INVALID_ARGUMENT", 'The "last" of $ws:join is not a whole number from 0.');
  return { position, last: Math.min(last, size) };
}

function isPosition(value: unknown): value is Position {
  if (!isObject(value)) return false;
  const { epoch, offset } = value;
  return typeof epoch === "string" && epoch.length <= MAX_EPOCH_LENGTH && isCount(offset);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
