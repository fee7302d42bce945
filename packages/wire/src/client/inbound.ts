/** A message of the server, as its schema reads it. */
import { isStandardMetaKey } from "../protocol/control.ts";
import { type Envelope, isObject, type Meta } from "../protocol/envelope.ts";
import type { AnyErrorCode } from "../protocol/error.ts";
import type { AnyMessageSchema } from "../schema/message.ts";
import { readMeta, readPayload, standardValidator } from "../schema/validate.ts";
import type { ClientOptions } from "./options.ts";

export interface Inbound {
  readonly type: string;
  readonly meta: Meta;
  readonly payload: unknown;
}

/** Throws `WsError` with the given code when the message does not fit. */
export function read(
  schema: AnyMessageSchema,
  envelope: Envelope,
  code: AnyErrorCode,
  unknownKeys?: ClientOptions["unknownKeys"],
): Inbound {
  const known = unknownKeys === "strip" ? strip(schema, envelope) : envelope;
  return {
    type: known.type,
    meta: readMeta(standardValidator, schema, known, code),
    payload: readPayload(standardValidator, schema, known, code),
  };
}

/** Without the keys that a newer server may have added. Deeper objects are as strict as their schemas are. */
function strip({ payload, meta }: AnyMessageSchema, envelope: Envelope): Envelope {
  return {
    ...envelope,
    meta: pick(meta ?? NOTHING_DECLARED, envelope.meta, isStandardMetaKey) as Meta,
    payload: payload && pick(payload, envelope.payload),
  };
}

const NOTHING_DECLARED = { entries: {} };

/** Zod keeps the declared keys in `shape`, Valibot in `entries`; another library is as strict as its user made it. */
function pick(schema: object, value: unknown, keeps?: (key: string) => boolean): unknown {
  const { shape, entries = shape } = schema as { shape?: object; entries?: object };
  if (!entries || !isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).filter(([key]) => Object.hasOwn(entries, key) || keeps?.(key)),
  );
}
