/** `message()`, `rpc()` and `channel()` with Valibot. Object schemas and raw shapes become strict. */
import * as v from "valibot";
import { buildMessage, buildRpc, type Library } from "./build.ts";
import { buildChannel, type ParamNames } from "./build-channel.ts";
import { type BytesOptions, describeBytes, isBytes, NOT_BYTES, toBytes } from "./bytes.ts";
import type { AnyChannel, Channel, ChannelHistory } from "./channel.ts";
import type { ErrorConfigs, ErrorsJson, ErrorsKey, ErrorsOf, OptionsJson } from "./declared-errors.ts";
import type { Json, OnlyRefused, RefuseNonJson } from "./json-type.ts";
import type { AnyMessageSchema, MessageSchema, RpcOptionsOf, RpcSchema, StreamOrDurable } from "./message.ts";
import type { StandardSchema } from "./standard-schema.ts";

export { v };

type ObjectSchema =
  | v.ObjectSchema<v.ObjectEntries, v.ErrorMessage<v.ObjectIssue> | undefined>
  | v.StrictObjectSchema<v.ObjectEntries, v.ErrorMessage<v.StrictObjectIssue> | undefined>
  | v.LooseObjectSchema<v.ObjectEntries, v.ErrorMessage<v.LooseObjectIssue> | undefined>;

/** An object schema, or the fields of one. */
export type ValibotFields = ObjectSchema | v.ObjectEntries;

/** The config form of `message()`. */
export interface ValibotConfig {
  /** The fields of the payload. Default: no payload. */
  readonly payload?: ValibotFields;
  /** A message schema, or a payload; the message type is then `<type>_RESPONSE`. */
  readonly response?: ValibotFields | AnyMessageSchema;
  /** The meta fields. Default: none. */
  readonly meta?: ValibotFields;
  /** The errors that `ctx.fail()` may end a request with, by name. They need a response. Default: none. */
  readonly errors?: ErrorConfigs<ValibotFields>;
}

type Strict<F> = F extends { readonly entries: infer E extends v.ObjectEntries }
  ? v.StrictObjectSchema<E, undefined>
  : F extends v.ObjectEntries
    ? v.StrictObjectSchema<F, undefined>
    : never;

/** The Standard Schema type of declared fields: as the sender passes them, as the receiver gets them. */
export type ValibotStandard<F> = F extends undefined
  ? undefined
  : StandardSchema<v.InferInput<Strict<F>>, v.InferOutput<Strict<F>>>;

/** The result of `message(type, second)`. `second` is a config when it has only config keys, else the payload. */
export type ValibotMessage<Type extends string, Second> = Second extends ObjectSchema
  ? MessageSchema<Type, ValibotStandard<Second>, undefined, undefined>
  : [keyof Second] extends [never]
    ? MessageSchema<Type, ValibotStandard<Second>, undefined, undefined>
    : [keyof Second] extends ["payload" | "response" | "meta" | ErrorsKey<Second>]
      ? MessageSchema<
          Type,
          ValibotStandard<Part<Second, "payload">>,
          ValibotStandard<Part<Second, "meta">>,
          ValibotResponse<Type, Part<Second, "response">>
        > &
          ErrorsOf<Second>
      : MessageSchema<Type, ValibotStandard<Second>, undefined, undefined>;

/** Added to the arguments of `message()` and `rpc()`, so that the compiler refuses fields without a JSON form. */
export type ValibotJson<F> = F extends undefined
  ? unknown
  : [keyof F] extends [keyof ValibotConfig]
    ? OnlyRefused<{
        [K in keyof F]: F[K] extends ValibotFields
          ? ValibotJson<F[K]>
          : F[K] extends ErrorConfigs
            ? ErrorsJson<F[K]>
            : // A field called like a key of the config.
              F[K] extends v.GenericSchema | v.GenericSchemaAsync
              ? RefuseNonJson<v.InferInput<F[K]>>
              : unknown;
      }>
    : [v.InferInput<Strict<F>>] extends [Json]
      ? unknown
      : F extends v.GenericSchema | v.GenericSchemaAsync
        ? RefuseNonJson<v.InferInput<F>>
        : OnlyRefused<{
            [K in keyof F]: F[K] extends v.GenericSchema | v.GenericSchemaAsync
              ? RefuseNonJson<v.InferInput<F[K]>>
              : unknown;
          }>;

type Part<C, K extends string> = C extends Record<K, infer P> ? P : undefined;

type ValibotResponse<Type extends string, R> = R extends ValibotFields
  ? MessageSchema<`${Type}_RESPONSE`, ValibotStandard<R>, undefined, undefined>
  : R extends AnyMessageSchema
    ? R
    : undefined;

const valibot: Library = {
  strict(fields, where) {
    if (!("~standard" in (fields as object))) return fastSchema(strictObject(fields as v.ObjectEntries));
    if (isObjectSchema(fields) && !("pipe" in fields)) {
      return fastSchema(fields.type === "strict_object" ? fields : strictObject(fields.entries));
    }
    throw new TypeError(
      `${where} is not a plain object schema, so its unknown keys cannot be refused. Pass v.object({ … }) or its fields, and move pipes to the fields.`,
    );
  },
  item: (schema) =>
    isObjectSchema(schema) && !("pipe" in schema) && schema.type !== "strict_object"
      ? fastSchema(strictObject(schema.entries))
      : schema,
  keysOf: (fields) => Object.keys(isObjectSchema(fields) ? fields.entries : (fields as object)),
};

type StrictSchema = StandardSchema & { readonly entries: object };

/** Valibot creates `~standard` on every read; this reads it once. */
function fastSchema(schema: StrictSchema): StrictSchema {
  return { "~standard": schema["~standard"], entries: schema.entries };
}

/**
 * A synchronous object schema treats the promise of an asynchronous field as a result without issues, and would accept
 * anything. An asynchronous one returns a promise, which the router refuses.
 */
function strictObject(entries: v.ObjectEntries): StrictSchema {
  const isAsync = Object.values(entries).some((field: { readonly async: boolean }) => field.async);
  return isAsync ? v.strictObjectAsync(entries) : v.strictObject(entries);
}

function isObjectSchema(fields: unknown): fields is ObjectSchema {
  return (
    typeof fields === "object" &&
    fields !== null &&
    "type" in fields &&
    (fields.type === "object" || fields.type === "strict_object" || fields.type === "loose_object") &&
    "entries" in fields
  );
}

/**
 * Declares a message. Unknown keys in payload and meta are refused.
 *
 * @example
 * ```ts
 * import { message, v } from "@halyard/wire/valibot";
 *
 * const Left = message("LEFT");
 * const Said = message("SAID", { room: v.string(), text: v.string() });
 * const Sum = message("SUM", { payload: { terms: v.array(v.number()) }, response: { sum: v.number() } });
 * ```
 */
export function message<Type extends string>(
  type: Type,
): MessageSchema<Type, undefined, undefined, undefined>;
export function message<Type extends string, Second extends ValibotFields | ValibotConfig>(
  type: Type,
  second: Second & ValibotJson<Second>,
): ValibotMessage<Type, Second>;
export function message<Type extends string, Payload extends ValibotFields, Meta extends ValibotFields>(
  type: Type,
  payload: Payload & ValibotJson<Payload>,
  meta: Meta & ValibotJson<Meta>,
): MessageSchema<Type, ValibotStandard<Payload>, ValibotStandard<Meta>, undefined>;
export function message(type: string, second?: unknown, meta?: unknown): AnyMessageSchema {
  return buildMessage(valibot, type, second, meta);
}

/** Declares a request and its response. Pass `undefined` for no payload. */
export function rpc<
  RequestType extends string,
  RequestPayload extends ValibotFields | undefined,
  ResponseType extends string,
  ResponsePayload extends ValibotFields | undefined,
>(
  requestType: RequestType,
  requestPayload: RequestPayload & ValibotJson<RequestPayload>,
  responseType: ResponseType,
  responsePayload: ResponsePayload & ValibotJson<ResponsePayload>,
): MessageSchema<
  RequestType,
  ValibotStandard<RequestPayload>,
  undefined,
  MessageSchema<ResponseType, ValibotStandard<ResponsePayload>, undefined, undefined>
>;
/** Declares a request with typed progress, which the reader paces. With `durable`, its calls outlive their connection. */
export function rpc<
  RequestType extends string,
  RequestPayload extends ValibotFields | undefined,
  ResponseType extends string,
  ResponsePayload extends ValibotFields | undefined,
  Options extends RpcOptionsOf<v.GenericSchema, ValibotFields>,
>(
  requestType: RequestType,
  requestPayload: RequestPayload & ValibotJson<RequestPayload>,
  responseType: ResponseType,
  responsePayload: ResponsePayload & ValibotJson<ResponsePayload>,
  options: Options & OptionsJson<Options>,
): StreamOrDurable<
  Options,
  RequestType,
  ValibotStandard<RequestPayload>,
  MessageSchema<ResponseType, ValibotStandard<ResponsePayload>, undefined, undefined>
> &
  ErrorsOf<Options>;
export function rpc(
  requestType: string,
  requestPayload: unknown,
  responseType: string,
  responsePayload: unknown,
  options?: object,
): RpcSchema {
  return buildRpc(valibot, requestType, requestPayload, responseType, responsePayload, options);
}

/** A field of bytes: a `Uint8Array` in handlers, base64 in JSON. Files belong to HTTP uploads. */
export function bytes(options?: BytesOptions): v.GenericSchema<Uint8Array, Uint8Array> {
  return v.pipe(
    v.custom<Uint8Array>((value) => isBytes(value, options), NOT_BYTES),
    v.metadata(describeBytes(options)),
    v.transform((value): Uint8Array => toBytes(value)),
  );
}

/** The options of `channel()`. */
export interface ValibotChannelOptions<
  Pattern extends string,
  Params extends Readonly<Record<ParamNames<Pattern>, v.GenericSchema>> | undefined,
  Events extends readonly AnyMessageSchema[],
  Presence extends ValibotFields | undefined,
> {
  /** One schema for each parameter in the name. The server refuses a join with other parameters. */
  readonly params?: Params & ValibotJson<Params>;
  /** The messages that may be published on the channel. */
  readonly events: Events;
  /** What a member shows of itself. Default: the channel has no member list. */
  readonly presence?: Presence & ValibotJson<Presence>;
  /** Keeps messages, so that a client resumes after a lost connection. Default: none. */
  readonly history?: ChannelHistory;
}

/**
 * Declares a channel: a topic that clients join, with typed parameters and events. Register it with `router.channel()`,
 * and join it with `joinChannel()`.
 *
 * @example
 * ```ts
 * import { channel, message, v } from "@halyard/wire/valibot";
 *
 * const Said = message("SAID", { text: v.string() });
 * const Room = channel("room:{id}", { params: { id: v.string() }, events: [Said] });
 * ```
 */
export function channel<
  Pattern extends string,
  const Events extends readonly AnyMessageSchema[],
  Params extends Readonly<Record<ParamNames<Pattern>, v.GenericSchema>> | undefined = undefined,
  Presence extends ValibotFields | undefined = undefined,
>(
  pattern: Pattern,
  options: ValibotChannelOptions<Pattern, Params, Events, Presence>,
): Channel<ValibotStandard<Params>, Events, ValibotStandard<Presence>>;
export function channel(pattern: string, options: object): AnyChannel {
  return buildChannel(valibot, pattern, options);
}
