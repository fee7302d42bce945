/** A message on its way out: checked and written when it is given, sent when there is a link. */
import { encode, type Meta, problemOfMeta, tidyMeta } from "../protocol/envelope.ts";
import { WsError } from "../protocol/error.ts";
import type { AnyMessageSchema } from "../schema/message.ts";
import { failure } from "./failures.ts";
import { type Inbound, read } from "./inbound.ts";

export interface Outbound {
  readonly type: string;
  frame: string;
  /** Of a request: when its caller gives up, in monotonic time. */
  readonly deadline?: number;
  /** Of a request: ends it. */
  readonly settle?: (outcome: WsError | Inbound) => void;
  isSent?: boolean;
}

/** The frame; throws `INVALID_ARGUMENT` when payload or meta do not fit. */
export function write(schema: AnyMessageSchema, payload: unknown, given: object): string {
  const { type } = schema;
  const meta: Meta = { ...given };
  // Read as the receiver will, for the checks alone: what is sent is what was given.
  read(
    schema,
    { problem: undefined, type, meta, payload, hasCustomMeta: tidyMeta(meta) },
    "INVALID_ARGUMENT",
  );
  const problem = problemOfMeta(meta);
  if (problem) throw failure("INVALID_ARGUMENT", problem);
  try {
    return encode(type, meta, payload);
  } catch (error) {
    throw WsError.wrap(error, "INVALID_ARGUMENT");
  }
}

/** The frame of a request that has waited: the server's time for it is what is left of the caller's. */
export function rewrite(frame: string, timeoutMs: number): string {
  const message = JSON.parse(frame) as { meta: Meta };
  message.meta.timeoutMs = Math.max(1, Math.ceil(timeoutMs));
  return JSON.stringify(message);
}
