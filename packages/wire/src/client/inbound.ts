/** Reads a message of the server with its schema. */
import { isStandardMetaKey } from "../protocol/control.ts";
import type { Meta } from "../protocol/envelope.ts";
import type { AnyErrorCode } from "../protocol/error.ts";
import type { AnyMessageSchema } from "../schema/message.ts";
import { pick, readMeta, readPart, standardValidator } from "../schema/validate.ts";
import { failure } from "./failures.ts";
import type { ClientOptions } from "./options.ts";
import { text } from "./texts.ts";

/** A message from the server as it arrived, before validation. */
export interface Inbound {
  /** The message type. */
  readonly type: string;
  /** The meta of the message. */
  readonly meta: Meta;
  /** The payload, if there is one. */
  readonly payload: unknown;
}

/** The schema's type. Throws when JavaScript passed something else, such as the name of the message. */
export function typeOf(schema: AnyMessageSchema): string {
  const type = (schema as AnyMessageSchema | undefined)?.type;
  if (typeof type === "string") return type;
  throw failure("INVALID_ARGUMENT", text("type", JSON.stringify(schema)));
}

/** Throws a `WsError` with the given code when the message does not match its schema. */
export function read(
  schema: AnyMessageSchema,
  message: Inbound,
  code: AnyErrorCode,
  unknownKeys?: ClientOptions["unknownKeys"],
): Inbound {
  const accepted = unknownKeys === "strip" ? strip(schema, message) : message;
  return {
    type: accepted.type,
    meta: readMeta(standardValidator, schema, accepted, code),
    payload: readPart(standardValidator, schema, "payload", accepted.payload, code),
  };
}

/** Removes top-level keys that the schema does not declare, such as those of a newer server. Nested objects stay as they are. */
function strip({ payload, meta }: AnyMessageSchema, message: Inbound): Inbound {
  return {
    ...message,
    meta: pick(meta ?? { entries: {} }, message.meta, isStandardMetaKey) as Meta,
    payload: payload && pick(payload, message.payload),
  };
}
