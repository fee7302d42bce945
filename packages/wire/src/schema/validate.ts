/** Checks payload and meta against a message schema, on the way in and on the way out. */
import { isStandardMetaKey } from "../protocol/control.ts";
import type { Envelope, Meta } from "../protocol/envelope.ts";
import { type AnyErrorCode, WsError } from "../protocol/error.ts";
import type { AnyMessageSchema } from "./message.ts";
import type { StandardIssue, StandardResult, StandardSchema } from "./standard-schema.ts";

const MAX_ISSUES = 10;

/** How a schema is run. The default calls the schema's own `~standard.validate`. */
export type Validator = (
  schema: StandardSchema,
  value: unknown,
) => StandardResult<unknown> | Promise<StandardResult<unknown>>;

export const standardValidator: Validator = (schema, value) => schema["~standard"].validate(value);

/** The payload of an inbound message as its receiver sees it; throws `WsError` with the given code when it does not fit. */
export function readPayload(
  validator: Validator,
  schema: AnyMessageSchema,
  { payload }: Envelope,
  code: AnyErrorCode,
): unknown {
  return run(validator, schema, "payload", payload, code);
}

/** The meta of an inbound message as its receiver sees it: standard keys, and what the schema declares. */
export function readMeta(
  validator: Validator,
  schema: AnyMessageSchema,
  { meta, hasCustomMeta }: Envelope,
  code: AnyErrorCode,
): Meta {
  if (schema.meta === undefined && !hasCustomMeta) return meta;
  const declared = declaredPart(schema, meta, code);
  if (schema.meta === undefined) return meta;
  const { correlationId, timestamp, timeoutMs } = meta;
  const read = { ...(run(validator, schema, "meta", declared, code) as Meta) };
  if (correlationId !== undefined) read.correlationId = correlationId;
  if (timestamp !== undefined) read.timestamp = timestamp;
  if (timeoutMs !== undefined) read.timeoutMs = timeoutMs;
  return read;
}

/** Checks an outbound message. The frame carries payload and meta as given; transforms run once, at the receiver. */
export function checkOutbound(
  validator: Validator,
  schema: AnyMessageSchema,
  payload: unknown,
  meta: object | undefined,
  code: AnyErrorCode,
): void {
  run(validator, schema, "payload", payload, code);
  if (meta === undefined && schema.meta === undefined) return;
  const declared = declaredPart(schema, meta ?? {}, code);
  run(validator, schema, "meta", schema.meta && declared, code);
}

/** The keys of meta that only a schema can allow. */
function declaredPart(schema: AnyMessageSchema, meta: object, code: AnyErrorCode): Meta {
  const declared: Meta = {};
  for (const [key, value] of Object.entries(meta)) {
    if (isStandardMetaKey(key)) continue;
    if (schema.meta === undefined || key === "__proto__") {
      throw new WsError(code, `The meta of ${schema.type} has a key that its schema does not declare.`);
    }
    declared[key] = value;
  }
  return declared;
}

/** One part of a message, as its schema makes it. */
function run(
  validator: Validator,
  message: AnyMessageSchema,
  part: "payload" | "meta",
  value: unknown,
  code: AnyErrorCode,
): unknown {
  const { type } = message;
  const schema = part === "payload" ? message.payload : message.meta;
  if (schema === undefined) {
    if (value === undefined) return undefined;
    throw new WsError(code, `${type} takes no ${part}, but one was given.`);
  }
  const result = validator(schema, value);
  if ("then" in result) {
    // The promise is ours to settle: an unhandled rejection would end the process.
    Promise.resolve(result).catch(() => undefined);
    throw new WsError(
      "INTERNAL",
      `The schema of ${type} validates asynchronously, which wire does not support. Wait in the handler.`,
    );
  }
  if (result.issues === undefined) return result.value;
  throw new WsError(code, `The ${part} of ${type} does not fit its schema.`, {
    issues: result.issues.slice(0, MAX_ISSUES).map(describeIssue),
  });
}

function describeIssue({ path = [], message }: StandardIssue): { path: string; message: string } {
  return { path: path.map((part) => String(typeof part === "object" ? part.key : part)).join("."), message };
}
