/** Builds message schemas from the arguments of `message()` and `rpc()`, for every validation library. */
import { isReservedMetaKey, isReservedType } from "../protocol/control.ts";
import { declareErrors } from "./error-reader.ts";
import { describeNonJson, findNonJson } from "./json-form.ts";
import type { AnyMessageSchema, DurableConfig, RpcOptions, RpcSchema } from "./message.ts";
import { isMessageSchema } from "./message-schema.ts";
import type { StandardSchema } from "./standard-schema.ts";
import { StreamReader } from "./stream-reader.ts";

/** What a validation library provides: how fields become a schema that refuses unknown keys. */
export interface Library {
  /** Returns a strict schema for an object schema or a raw shape; throws when there is none. */
  strict(fields: unknown, where: string): StandardSchema;
  /** Returns the schema of a progress item; an object schema becomes strict. */
  item(schema: StandardSchema, where: string): StandardSchema;
  /** The keys that an object schema or raw shape declares; empty when unknown. */
  keysOf(fields: unknown): readonly string[];
}

interface MessageConfig {
  readonly payload?: unknown;
  readonly response?: unknown;
  readonly meta?: unknown;
  readonly errors?: unknown;
}

/** The longest time that a history store keeps a topic is 30 days, and a call is kept a little longer while it runs. */
const MAX_KEEP_MS = 29 * 24 * 60 * 60_000;

const CONFIG_KEYS: readonly string[] = ["payload", "response", "meta", "errors"];

export function buildMessage(
  library: Library,
  type: string,
  second?: unknown,
  meta?: unknown,
): AnyMessageSchema {
  if (isConfig(second) && meta !== undefined) {
    throw new TypeError(
      `The message "${type}" is declared with a config object, so its third argument would be ignored. Move meta into the config.`,
    );
  }
  const config: MessageConfig = isConfig(second) ? second : { payload: second, meta };
  return {
    type: checkType(type),
    payload: fieldsToSchema(library, config.payload, `The payload of ${type}`),
    meta: metaToSchema(library, config.meta, type),
    response: responseToMessage(library, config.response, type),
    ...(config.errors !== undefined &&
      declareErrors((data, where) => fieldsToSchema(library, data, where), config.errors, type)),
  };
}

export function buildRpc(
  library: Library,
  requestType: string,
  requestPayload: unknown,
  responseType: string,
  responsePayload: unknown,
  options?: Partial<RpcOptions<unknown, unknown>>,
): RpcSchema {
  const response = buildMessage(library, responseType, { payload: responsePayload });
  const errors = options?.errors;
  const config: MessageConfig = { payload: requestPayload, response, errors };
  const request = { ...buildMessage(library, requestType, config), response };
  if (!options || (errors && !options.progress && !options.durable)) return request;
  const schema: RpcSchema = {
    ...request,
    progress: progressToSchema(library, options.progress, requestType),
    stream: (host, call, { deadlineMs }, key) => new StreamReader(schema, host, call).start(deadlineMs, key),
    durable: checkDurable(options.durable, requestType),
  };
  return schema;
}

function progressToSchema(library: Library, progress: unknown, type: string): StandardSchema {
  const where = `The progress of ${type}`;
  if (!isStandardSchema(progress)) {
    throw new TypeError(`${where} is not a schema. Pass a schema as the option \`progress\` of rpc().`);
  }
  const nonJson = findNonJson(progress);
  if (nonJson !== undefined) throw new TypeError(describeNonJson(where, nonJson));
  return library.item(progress, where);
}

function checkDurable(durable: DurableConfig | undefined, type: string): DurableConfig | undefined {
  if (durable === undefined) return undefined;
  const keepMs: unknown = durable?.keepMs;
  if (typeof keepMs === "number" && keepMs >= 1 && keepMs <= MAX_KEEP_MS) return { keepMs };
  throw new TypeError(
    `The option durable.keepMs of ${type} is ${String(keepMs)}, but it must be a number of ms from 1 to ${MAX_KEEP_MS} (29 days).`,
  );
}

/**
 * A config has only the keys `payload`, `response`, `meta` and, with a response, `errors`, and at least one of them.
 * Anything else, also `{}`, is a raw shape.
 */
function isConfig(second: unknown): second is MessageConfig {
  if (typeof second !== "object" || second === null || isStandardSchema(second)) return false;
  const keys = Object.keys(second);
  const isPayload = "errors" in second && (!("response" in second) || isStandardSchema(second.errors));
  return !isPayload && keys.length > 0 && keys.every((key) => CONFIG_KEYS.includes(key));
}

export function fieldsToSchema(library: Library, fields: unknown, where: string): StandardSchema | undefined {
  if (fields === undefined) return undefined;
  if (!isStandardSchema(fields) && !isShape(fields)) {
    throw new TypeError(
      `${where} is neither an object schema nor an object of schemas. Pass an object schema, or an object in which every value is a schema.`,
    );
  }
  const nonJson = findNonJson(fields);
  if (nonJson !== undefined) throw new TypeError(describeNonJson(where, nonJson));
  return library.strict(fields, where);
}

/** Getters are accepted without reading them: recursive shapes use them for schemas that do not exist yet. */
function isShape(fields: unknown): boolean {
  if (typeof fields !== "object" || fields === null || Array.isArray(fields)) return false;
  const properties = Object.values(Object.getOwnPropertyDescriptors(fields));
  return properties.every(({ get, value }) => get !== undefined || isStandardSchema(value));
}

function metaToSchema(library: Library, fields: unknown, type: string): StandardSchema | undefined {
  const schema = fieldsToSchema(library, fields, `The meta of ${type}`);
  const reserved = schema && library.keysOf(fields).find(isReservedMetaKey);
  if (reserved !== undefined) {
    throw new TypeError(
      `The meta of ${type} declares "${reserved}", which is reserved: the server sets clientId, receivedAt and keys beginning with "$". Choose another name.`,
    );
  }
  return schema;
}

function responseToMessage(library: Library, response: unknown, type: string): AnyMessageSchema | undefined {
  if (response === undefined) return undefined;
  return isMessageSchema(response)
    ? response
    : buildMessage(library, `${type}_RESPONSE`, { payload: response });
}

export function isStandardSchema(value: unknown): value is StandardSchema {
  return (typeof value === "object" || typeof value === "function") && value !== null && "~standard" in value;
}

function checkType(type: string): string {
  if (typeof type !== "string" || type === "") {
    throw new TypeError("A message type must be a non-empty string. Pass a name, such as CHAT_SAID.");
  }
  if (isReservedType(type)) {
    throw new TypeError(
      `The message type "${type}" is reserved: types beginning with "$ws:" belong to the protocol. Choose another name.`,
    );
  }
  return type;
}
