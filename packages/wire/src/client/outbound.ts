/** A message on its way out: checked and written when it is given, sent when there is a link. */
import { isReservedMetaKey } from "../protocol/control.ts";
import { encode, type Meta, problemOfMeta } from "../protocol/envelope.ts";
import { WsError } from "../protocol/error.ts";
import type { AnyMessageSchema } from "../schema/message.ts";
import { checkOutbound, standardValidator } from "../schema/validate.ts";
import { failure } from "./failures.ts";
import type { Call } from "./requests.ts";

export interface Outbound {
  readonly type: string;
  frame: string;
  /** The request it is, if it is one. */
  readonly call?: Call;
}

/** The frame; throws `INVALID_ARGUMENT` when payload or meta do not fit. */
export function write(schema: AnyMessageSchema, payload: unknown, given: Meta): string {
  const meta = Object.fromEntries(Object.entries(given).filter(([key]) => !isReservedMetaKey(key)));
  checkOutbound(standardValidator, schema, payload, meta, "INVALID_ARGUMENT");
  const problem = problemOfMeta(meta);
  if (problem !== undefined) throw failure("INVALID_ARGUMENT", problem);
  try {
    return encode(schema.type, meta, payload);
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
