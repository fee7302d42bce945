/** `message()` and `rpc()` over any Standard Schema library; strictness of the payload is the library's. */
import { buildMessage, buildRpc, isStandardSchema, type Library } from "./build.ts";
import type { AnyMessageSchema, MessageSchema, RpcSchema } from "./message.ts";
import type { StandardSchema } from "./standard-schema.ts";

const standard: Library = {
  strict(fields, where) {
    if (isStandardSchema(fields)) return fields;
    throw new TypeError(
      `${where} is not a Standard Schema. Give one, or import message() from "@halyard/wire/zod" or "@halyard/wire/valibot" to use raw shapes.`,
    );
  },
  keysOf: () => [],
};

export interface StandardConfig {
  readonly payload?: StandardSchema;
  /** A message schema, or the payload of a message that is then named `<type>_RESPONSE`. */
  readonly response?: StandardSchema | AnyMessageSchema;
  readonly meta?: StandardSchema;
}

type Part<C, K extends keyof StandardConfig> = C extends Record<K, infer P> ? P : undefined;
type SchemaPart<C, K extends keyof StandardConfig> = Extract<Part<C, K>, StandardSchema | undefined>;

type ResponseOf<Type extends string, R> = R extends AnyMessageSchema
  ? R
  : R extends StandardSchema
    ? MessageSchema<`${Type}_RESPONSE`, R, undefined, undefined>
    : undefined;

/** Declares a message; see `@halyard/wire/zod` for the forms. */
export function message<Type extends string>(
  type: Type,
): MessageSchema<Type, undefined, undefined, undefined>;
export function message<Type extends string, Payload extends StandardSchema>(
  type: Type,
  payload: Payload,
): MessageSchema<Type, Payload, undefined, undefined>;
export function message<Type extends string, Payload extends StandardSchema, Meta extends StandardSchema>(
  type: Type,
  payload: Payload,
  meta: Meta,
): MessageSchema<Type, Payload, Meta, undefined>;
export function message<Type extends string, Config extends StandardConfig>(
  type: Type,
  config: Config,
): MessageSchema<
  Type,
  SchemaPart<Config, "payload">,
  SchemaPart<Config, "meta">,
  ResponseOf<Type, Part<Config, "response">>
>;
export function message(type: string, second?: unknown, meta?: unknown): AnyMessageSchema {
  return buildMessage(standard, type, second, meta);
}

/** Declares a request and its response. `undefined` stands for no payload. */
export function rpc<
  RequestType extends string,
  RequestPayload extends StandardSchema | undefined,
  ResponseType extends string,
  ResponsePayload extends StandardSchema | undefined,
>(
  requestType: RequestType,
  requestPayload: RequestPayload,
  responseType: ResponseType,
  responsePayload: ResponsePayload,
): MessageSchema<
  RequestType,
  RequestPayload,
  undefined,
  MessageSchema<ResponseType, ResponsePayload, undefined, undefined>
>;
export function rpc(
  requestType: string,
  requestPayload: unknown,
  responseType: string,
  responsePayload: unknown,
): RpcSchema {
  return buildRpc(standard, requestType, requestPayload, responseType, responsePayload);
}
