/** Checks the payload and meta of inbound and outbound messages against their schema. */
import { isObject } from "../protocol/checks.ts";
import { isStandardMetaKey } from "../protocol/control.ts";
import type { Envelope, Meta } from "../protocol/envelope.ts";
import { type AnyErrorCode, WsError } from "../protocol/error.ts";
import type { AnyMessageSchema } from "./message.ts";
import type { StandardIssue, StandardResult, StandardSchema } from "./standard-schema.ts";

const MAX_ISSUES = 10;

/** Runs a schema on a value. The default calls the schema's `~standard.validate`. */
export type Validator = (
  schema: StandardSchema,
  value: unknown,
) => StandardResult<unknown> | Promise<StandardResult<unknown>>;

export const standardValidator: Validator = (schema, value) => schema["~standard"].validate(value);

/** The meta of an inbound message after validation: the standard keys and those the schema declares. */
export function readMeta(
  validator: Validator,
  schema: AnyMessageSchema,
  { meta }: Pick<Envelope, "meta">,
  code: AnyErrorCode,
): Meta {
  const declared = declaredPart(schema, meta, code);
  if (schema.meta === undefined) return meta;
  const result = { ...(readPart(validator, schema, "meta", declared, code) as Meta) };
  for (const key in meta) if (isStandardMetaKey(key)) result[key] = meta[key];
  return result;
}

/** Checks an outbound message. The frame carries payload and meta as given, because the receiver applies the transforms. */
export function checkOutbound(
  validator: Validator,
  schema: AnyMessageSchema,
  payload: unknown,
  meta: object | undefined,
  code: AnyErrorCode,
): void {
  readPart(validator, schema, "payload", payload, code);
  if (meta === undefined && schema.meta === undefined) return;
  const declared = declaredPart(schema, meta ?? {}, code);
  readPart(validator, schema, "meta", schema.meta && declared, code);
}

/** The meta without its standard keys; throws when the schema declares no meta. */
function declaredPart(schema: AnyMessageSchema, meta: object, code: AnyErrorCode): Meta {
  const declared: Meta = {};
  for (const [key, value] of Object.entries(meta)) {
    if (isStandardMetaKey(key)) continue;
    if (schema.meta === undefined || key === "__proto__") {
      throw undeclared(schema, `meta ${JSON.stringify(key.slice(0, 64))}`, code);
    }
    declared[key] = value;
  }
  return declared;
}

function undeclared({ type }: AnyMessageSchema, what: string, code: AnyErrorCode): WsError {
  return new WsError(code, `The message ${type} declares no ${what}. Leave it out, or declare it.`);
}

/** One part of a message after validation; throws a `WsError` with the given code when it is invalid. */
export function readPart(
  validator: Validator,
  message: AnyMessageSchema,
  part: "payload" | "meta" | "progress",
  value: unknown,
  code: AnyErrorCode,
): unknown {
  const { type, [part]: schema } = message;
  if (schema !== undefined) return readValue(validator, schema, part, type, value, code);
  if (value === undefined) return undefined;
  throw undeclared(message, part, code);
}

/** A value after validation. `part` and `type` name it in the error. */
export function readValue(
  validator: Validator,
  schema: StandardSchema,
  part: string,
  type: string,
  value: unknown,
  code: AnyErrorCode,
): unknown {
  const result = validator(schema, value);
  if ("then" in result) {
    // An unhandled rejection would end the process.
    Promise.resolve(result).catch(() => undefined);
    throw new WsError("INTERNAL", `The schema of ${type} is asynchronous. Use a synchronous one.`);
  }
  if (result.issues === undefined) return result.value;
  throw new WsError(code, `The ${part} of ${type} does not match its schema.`, {
    issues: describeIssues(result.issues),
  });
}

/**
 * The value with only the keys that its schema declares, and those of `keeps`. Zod has the declared keys in `shape`,
 * Valibot in `entries`. For other libraries, nothing is removed.
 */
export function pick(schema: object, value: unknown, keeps?: (key: string) => boolean): unknown {
  const { shape, entries = shape } = schema as { shape?: object; entries?: object };
  if (!entries || !isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).filter(([key]) => Object.hasOwn(entries, key) || keeps?.(key)),
  );
}

export function describeIssues(issues: readonly StandardIssue[]): { path: string; message: string }[] {
  return issues.slice(0, MAX_ISSUES).map(({ path = [], message }) => ({
    path: path.map((part) => String(typeof part === "object" ? part.key : part)).join("."),
    message,
  }));
}
