/** Writes the position of a kept message into the meta of its frame, once per process and message. */
import type { HistoryPosition } from "../pubsub/history.ts";

const META = '"meta":{';

/**
 * `$e` and `$o` are epoch and offset, `$x` the connection that must not receive the message: everybody gets it, so that
 * offsets stay contiguous, and that client drops it.
 */
export function stamp(
  frame: string,
  { epoch, offset }: HistoryPosition,
  excludeClientId: string | undefined,
): string {
  // The type precedes it, and quotes within the type are escaped, so this is the meta of the frame.
  const at = frame.indexOf(META) + META.length;
  const excluded = excludeClientId === undefined ? "" : `,"$x":${JSON.stringify(excludeClientId)}`;
  const separator = frame[at] === "}" ? "" : ",";
  return `${frame.slice(0, at)}"$e":${JSON.stringify(epoch)},"$o":${offset}${excluded}${separator}${frame.slice(at)}`;
}
