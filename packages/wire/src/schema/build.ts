/** The forms of `message()` and `rpc()`, read once for every validation library. */
import { isReservedMetaKey, isReservedType } from "../protocol/control.ts";
import type { AnyMessageSchema, RpcSchema } from "./message.ts";
import type { StandardSchema } from "./standard-schema.ts";

/** What a library's module brings: how its fields become a schema that refuses unknown keys. */
export interface Library {
  /** Gives the strict schema of an object schema or a raw shape; throws where that cannot be had. */
  strict(fields: unknown, where: string): StandardSchema;
  /** The names declared by an object schema or raw shape, where they can be known. */
  keysOf(fields: unknown): readonly string[];
}

interface MessageConfig {
  readonly payload?: unknown;
  readonly response?: unknown;
  readonly meta?: unknown;
}

const CONFIG_KEYS: readonly string[] = ["payload", "response", "meta"];

export function buildMessage(
  library: Library,
  type: string,
  second?: unknown,
  meta?: unknown,
): AnyMessageSchema {
  if (isConfig(second) && meta !== undefined) {
    throw new TypeError(
      `${type} is declared by a config, so its third argument would be ignored. Put meta into the config.`,
    );
  }
  const config: MessageConfig = isConfig(second) ? second : { payload: second, meta };
  return {
    type: checkType(type),
    payload: fieldsToSchema(library, config.payload, `The payload of ${type}`),
    meta: metaToSchema(library, config.meta, type),
    response: responseToMessage(library, config.response, type),
  };
}

export function buildRpc(
  library: Library,
  requestType: string,
  requestPayload: unknown,
  responseType: string,
  responsePayload: unknown,
): RpcSchema {
  const request = buildMessage(library, requestType, { payload: requestPayload });
  return { ...request, response: buildMessage(library, responseType, { payload: responsePayload }) };
}

/** One or more of `payload`, `response`, `meta`, and nothing else: a config. Anything else, `{}` too, is a raw shape. */
function isConfig(second: unknown): second is MessageConfig {
  if (typeof second !== "object" || second === null || isStandardSchema(second)) return false;
  const keys = Object.keys(second);
  return keys.length > 0 && keys.every((key) => CONFIG_KEYS.includes(key));
}

function fieldsToSchema(library: Library, fields: unknown, where: string): StandardSchema | undefined {
  if (fields === undefined) return undefined;
  if (!isStandardSchema(fields) && !isShape(fields)) {
    throw new TypeError(
      `${where} is neither an object schema nor the fields of one. Give an object schema, or an object whose every value is a schema.`,
    );
  }
  return library.strict(fields, where);
}

/** Getters are how recursive shapes are written: what they refer to may not exist yet. */
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
      `The meta of ${type} declares "${reserved}", which is reserved: clientId, receivedAt and names beginning with "$" are set by the server. Choose another name.`,
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

function isMessageSchema(value: unknown): value is AnyMessageSchema {
  return (
    typeof value === "object" &&
    value !== null &&
    !isStandardSchema(value) &&
    "type" in value &&
    typeof value.type === "string"
  );
}

export function isStandardSchema(value: unknown): value is StandardSchema {
  return (typeof value === "object" || typeof value === "function") && value !== null && "~standard" in value;
}

function checkType(type: string): string {
  if (typeof type !== "string" || type === "") {
    throw new TypeError("A message type is not a non-empty string. Give it a name, such as CHAT_SAID.");
  }
  if (isReservedType(type)) {
    throw new TypeError(
      `The message type "${type}" is reserved: types beginning with "$ws:" belong to the protocol. Choose another name.`,
    );
  }
  return type;
}
