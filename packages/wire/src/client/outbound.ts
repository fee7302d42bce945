/** An outbound message: checked and encoded at once, sent when there is a connection. */
import { encode, type Meta, tidyMeta } from "../protocol/envelope.ts";
import { WsError } from "../protocol/error.ts";
import type { AnyMessageSchema } from "../schema/message.ts";
import { failure } from "./failures.ts";
import { type Inbound, read, typeOf } from "./inbound.ts";
import { problemOfMeta } from "./meta.ts";
import { explain } from "./texts.ts";

export interface Outbound {
  readonly type: string;
  frame: string;
  /** Of a request: the monotonic time at which it times out, in ms; undefined for one whose timeout is a silence. */
  readonly deadline?: number | undefined;
  /** Of a request: resolves or rejects it. */
  readonly settle?: (outcome: WsError | Inbound) => void;
  isSent?: boolean;
}

/** Encodes the frame; throws `INVALID_ARGUMENT` when payload or meta do not match the schema. `reserved`: meta keys of the protocol. */
export function write(schema: AnyMessageSchema, payload: unknown, fields: object, reserved?: object): string {
  const type = typeOf(schema);
  const meta: Meta = { ...fields };
  try {
    // Only checks: the frame carries the payload and meta as given, and the receiver applies transforms.
    read(schema, { problem: undefined, type, meta, payload, hasCustom: tidyMeta(meta) }, "INVALID_ARGUMENT");
    const problem = problemOfMeta(meta);
    if (problem) throw failure("INVALID_ARGUMENT", problem);
    return encode(type, { ...meta, ...reserved }, payload);
  } catch (error) {
    throw explain(WsError.wrap(error, "INVALID_ARGUMENT"), "send");
  }
}

/** Updates `timeoutMs` in the frame of a queued request to the time that is left. */
export function rewrite(frame: string, timeoutMs: number): string {
  const message = JSON.parse(frame) as { meta: Meta };
  message.meta.timeoutMs = Math.max(1, Math.ceil(timeoutMs));
  return JSON.stringify(message);
}
