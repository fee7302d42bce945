/** The limit on the size of frames that the application sends. */
import { byteLength, MAX_BYTES_PER_UNIT } from "../../protocol/bytes.ts";
import { CONTROL, isReservedType } from "../../protocol/control.ts";
import { WsError } from "../../protocol/error.ts";

/** What every encoded frame begins with. */
const BEFORE_TYPE = '{"type":"';

/** Throws when an encoded frame is larger than the limit. Control frames are never refused. */
export function checkFrameSize(frame: string, limitBytes: number): void {
  if (frame.length * MAX_BYTES_PER_UNIT <= limitBytes) return;
  const bytes = byteLength(frame);
  if (bytes <= limitBytes) return;
  const type = frame.slice(BEFORE_TYPE.length, frame.indexOf('"', BEFORE_TYPE.length));
  if (isReservedType(type) && type !== CONTROL.progress) return;
  throw new WsError(
    "RESOURCE_EXHAUSTED",
    `The message ${type} has ${bytes} bytes, which is above maxOutboundFrameBytes (${limitBytes}). Send it in parts, or raise that router option.`,
    undefined,
    // A cause marks a fault of the server, which is logged when the application has no `onError`.
    { retryable: false, cause: new RangeError("The frame is too large.") },
  );
}
