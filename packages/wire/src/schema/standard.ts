/** `message()`, `rpc()` and `channel()` for any Standard Schema library. The library decides whether unknown keys are refused. */
import { buildMessage, buildRpc, isStandardSchema, type Library } from "./build.ts";
import { buildChannel } from "./build-channel.ts";
import type { AnyChannel, Channel, ChannelHistory } from "./channel.ts";
import type { ErrorConfigs, ErrorsJson, ErrorsOf, OptionsJson } from "./declared-errors.ts";
import type { OnlyRefused, RefuseNonJson } from "./json-type.ts";
import type { AnyMessageSchema, MessageSchema, RpcOptionsOf, RpcSchema, StreamOrDurable } from "./message.ts";
import type { InferInput, StandardSchema } from "./standard-schema.ts";

const standard: Library = {
  strict(fields, where) {
    if (isStandardSchema(fields)) return fields;
    throw new TypeError(
      `${where} is not a Standard Schema. Pass one, or import message() from "@halyard/wire/zod" or "@halyard/wire/valibot" to use raw shapes.`,
    );
  },
  item: (schema) => schema,
  keysOf: () => [],
};

/** The config form of `message()`. */
export interface StandardConfig {
  /** The schema of the payload. Default: no payload. */
  readonly payload?: StandardSchema;
  /** A message schema, or a payload; the message type is then `<type>_RESPONSE`. */
  readonly response?: StandardSchema | AnyMessageSchema;
  /** The schema of the meta fields. Default: none. */
  readonly meta?: StandardSchema;
  /** The errors that `ctx.fail()` may end a request with, by name. They need a response. Default: none. */
  readonly errors?: ErrorConfigs<StandardSchema>;
}

type Part<C, K extends keyof StandardConfig> = C extends Record<K, infer P> ? P : undefined;
type SchemaPart<C, K extends keyof StandardConfig> = Extract<Part<C, K>, StandardSchema | undefined>;

/** Added to the arguments of `message()` and `rpc()`, so that the compiler refuses schemas without a JSON form. */
export type StandardJson<S> = S extends StandardSchema ? RefuseNonJson<InferInput<S>> : unknown;

type ResponseOf<Type extends string, R> = R extends AnyMessageSchema
  ? R
  : R extends StandardSchema
    ? MessageSchema<`${Type}_RESPONSE`, R, undefined, undefined>
    : undefined;

/**
 * Declares a message with schemas of any Standard Schema library. `@halyard/wire/zod` and `@halyard/wire/valibot` also
 * accept raw shapes, and refuse unknown keys.
 *
 * @example
 * ```ts
 * import { message } from "@halyard/wire";
 * import { z } from "zod";
 *
 * const Left = message("LEFT");
 * const Said = message("SAID", z.strictObject({ text: z.string() }));
 * ```
 */
export function message<Type extends string>(
  type: Type,
): MessageSchema<Type, undefined, undefined, undefined>;
export function message<Type extends string, Payload extends StandardSchema>(
  type: Type,
  payload: Payload & StandardJson<Payload>,
): MessageSchema<Type, Payload, undefined, undefined>;
export function message<Type extends string, Payload extends StandardSchema, Meta extends StandardSchema>(
  type: Type,
  payload: Payload & StandardJson<Payload>,
  meta: Meta & StandardJson<Meta>,
): MessageSchema<Type, Payload, Meta, undefined>;
export function message<Type extends string, Config extends StandardConfig>(
  type: Type,
  config: Config &
    OnlyRefused<{
      [K in keyof Config]: K extends "errors" ? ErrorsJson<Config[K]> : StandardJson<Config[K]>;
    }>,
): MessageSchema<
  Type,
  SchemaPart<Config, "payload">,
  SchemaPart<Config, "meta">,
  ResponseOf<Type, Part<Config, "response">>
> &
  ErrorsOf<Config>;
export function message(type: string, second?: unknown, meta?: unknown): AnyMessageSchema {
  return buildMessage(standard, type, second, meta);
}

/** Declares a request and its response. Pass `undefined` for no payload. */
export function rpc<
  RequestType extends string,
  RequestPayload extends StandardSchema | undefined,
  ResponseType extends string,
  ResponsePayload extends StandardSchema | undefined,
>(
  requestType: RequestType,
  requestPayload: RequestPayload & StandardJson<RequestPayload>,
  responseType: ResponseType,
  responsePayload: ResponsePayload & StandardJson<ResponsePayload>,
): MessageSchema<
  RequestType,
  RequestPayload,
  undefined,
  MessageSchema<ResponseType, ResponsePayload, undefined, undefined>
>;
/** Declares a request with typed progress, which the reader paces. With `durable`, its calls outlive their connection. */
export function rpc<
  RequestType extends string,
  RequestPayload extends StandardSchema | undefined,
  ResponseType extends string,
  ResponsePayload extends StandardSchema | undefined,
  Options extends RpcOptionsOf<StandardSchema, StandardSchema>,
>(
  requestType: RequestType,
  requestPayload: RequestPayload & StandardJson<RequestPayload>,
  responseType: ResponseType,
  responsePayload: ResponsePayload & StandardJson<ResponsePayload>,
  options: Options & OptionsJson<Options>,
): StreamOrDurable<
  Options,
  RequestType,
  RequestPayload,
  MessageSchema<ResponseType, ResponsePayload, undefined, undefined>
> &
  ErrorsOf<Options>;
export function rpc(
  requestType: string,
  requestPayload: unknown,
  responseType: string,
  responsePayload: unknown,
  options?: object,
): RpcSchema {
  return buildRpc(standard, requestType, requestPayload, responseType, responsePayload, options);
}

/** The options of `channel()`. */
export interface StandardChannelOptions<
  Params extends StandardSchema | undefined,
  Events extends readonly AnyMessageSchema[],
  Presence extends StandardSchema | undefined,
> {
  /** The schema of the parameters: an object with one field for each parameter in the name. */
  readonly params?: Params & StandardJson<Params>;
  /** The messages that may be published on the channel. */
  readonly events: Events;
  /** What a member shows of itself. Default: the channel has no member list. */
  readonly presence?: Presence & StandardJson<Presence>;
  /** Keeps messages, so that a client resumes after a lost connection. Default: none. */
  readonly history?: ChannelHistory;
}

/**
 * Declares a channel: a topic that clients join, with typed parameters and events. Register it with `router.channel()`,
 * and join it with `joinChannel()`.
 *
 * @example
 * ```ts
 * import { channel, message } from "@halyard/wire";
 * import { z } from "zod";
 *
 * const Said = message("SAID", z.strictObject({ text: z.string() }));
 * const Room = channel("room:{id}", { params: z.strictObject({ id: z.string() }), events: [Said] });
 * ```
 */
export function channel<
  const Events extends readonly AnyMessageSchema[],
  Params extends StandardSchema | undefined = undefined,
  Presence extends StandardSchema | undefined = undefined,
>(
  pattern: string,
  options: StandardChannelOptions<Params, Events, Presence>,
): Channel<Params, Events, Presence>;
export function channel(pattern: string, options: object): AnyChannel {
  return buildChannel(standard, pattern, options);
}
