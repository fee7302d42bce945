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
  /** False: it is dropped instead of queued. */
  readonly queue?: boolean | undefined;
  /** Of a request: the monotonic time at which it times out, in ms; undefined without a time limit of its own. */
  readonly deadline?: number | undefined;
  /** Of a request: resolves or rejects it. */
  settle?: (outcome: WsError | Inbound) => void;
  isSent?: boolean;
}

/** Encodes the frame; throws `INVALID_ARGUMENT` when payload or meta do not match the schema. */
export function write(schema: AnyMessageSchema, payload: unknown, fields: object): string {
  const type = typeOf(schema);
  const meta: Meta = { ...fields };
  try {
    // Only checks: the frame carries the payload and meta as given, and the receiver applies transforms.
    tidyMeta(meta);
    read(schema, { type, meta, payload }, "INVALID_ARGUMENT");
    const problem = problemOfMeta(meta);
    if (problem) throw failure("INVALID_ARGUMENT", problem);
    return encode(type, meta, payload);
  } catch (error) {
    throw explain(WsError.wrap(error, "INVALID_ARGUMENT"), "send");
  }
}
