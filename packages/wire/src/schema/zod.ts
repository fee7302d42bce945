/** `message()`, `rpc()` and `channel()` with Zod 4. Object schemas and raw shapes become strict. */
import { z } from "zod";
import { buildMessage, buildRpc, type Library } from "./build.ts";
import { buildChannel, type ParamNames } from "./build-channel.ts";
import { type BytesOptions, describeBytes, isBytes, NOT_BYTES, toBytes } from "./bytes.ts";
import type { AnyChannel, Channel, ChannelHistory } from "./channel.ts";
import type { ErrorConfigs, ErrorsJson, ErrorsKey, ErrorsOf, OptionsJson } from "./declared-errors.ts";
import type { Json, OnlyRefused, RefuseNonJson } from "./json-type.ts";
import type { AnyMessageSchema, MessageSchema, RpcOptionsOf, RpcSchema, StreamOrDurable } from "./message.ts";
import type { SchemaOf, StandardSchema } from "./standard-schema.ts";

export { z };

// The types of Zod's core are small. z.ZodType and z.ZodObject have all methods, and the compiler would compare each one.
type Shape = Readonly<Record<string, z.core.SomeType>>;

/** An object schema, or the fields of one. */
export type ZodFields = z.core.$ZodObject | Shape;

/** The config form of `message()`. */
export interface ZodConfig {
  /** The fields of the payload. Default: no payload. */
  readonly payload?: ZodFields;
  /** A message schema, or a payload; the message type is then `<type>_RESPONSE`. */
  readonly response?: ZodFields | AnyMessageSchema;
  /** The meta fields. Default: none. */
  readonly meta?: ZodFields;
  /** The errors that `ctx.fail()` may end a request with, by name. They need a response. Default: none. */
  readonly errors?: ErrorConfigs<ZodFields>;
}

type Input<F> = F extends Shape ? z.core.$InferObjectInput<F, Strict["in"]> : z.input<F>;
type Output<F> = F extends Shape ? z.core.$InferObjectOutput<F, Strict["out"]> : z.output<F>;
type Strict = z.core.$strict;

/** The Standard Schema type of declared fields: as the sender passes them, as the receiver gets them. */
export type ZodStandard<F> = F extends undefined ? undefined : SchemaOf<Input<F>, Output<F>>;

/** The result of `message(type, second)`. `second` is a config when it has only config keys, else the payload. */
export type ZodMessage<Type extends string, Second> = Second extends z.core.SomeType
  ? MessageSchema<Type, ZodStandard<Second>, undefined, undefined>
  : [keyof Second] extends [never]
    ? MessageSchema<Type, ZodStandard<Second>, undefined, undefined>
    : [keyof Second] extends ["payload" | "response" | "meta" | ErrorsKey<Second>]
      ? MessageSchema<
          Type,
          ZodStandard<Part<Second, "payload">>,
          ZodStandard<Part<Second, "meta">>,
          ZodResponse<Type, Part<Second, "response">>
        > &
          ErrorsOf<Second>
      : MessageSchema<Type, ZodStandard<Second>, undefined, undefined>;

/** Added to the arguments of `message()` and `rpc()`, so that the compiler refuses fields without a JSON form. */
export type ZodJson<F> = F extends undefined
  ? unknown
  : [keyof F] extends [keyof ZodConfig]
    ? OnlyRefused<{
        [K in keyof F]: F[K] extends ZodFields
          ? ZodJson<F[K]>
          : F[K] extends ErrorConfigs
            ? ErrorsJson<F[K]>
            : // A field called like a key of the config.
              F[K] extends z.core.SomeType
              ? RefuseNonJson<z.input<F[K]>>
              : unknown;
      }>
    : [Input<F>] extends [Json]
      ? unknown
      : F extends z.core.SomeType
        ? RefuseNonJson<z.input<F>>
        : OnlyRefused<{ [K in keyof F]: RefuseNonJson<z.input<F[K]>> }>;

type Part<C, K extends string> = C extends Record<K, infer P> ? P : undefined;

type ZodResponse<Type extends string, R> = R extends ZodFields
  ? MessageSchema<`${Type}_RESPONSE`, ZodStandard<R>, undefined, undefined>
  : R extends AnyMessageSchema
    ? R
    : undefined;

const SYNC = { async: false };

/** Runs the schema's parser directly, which is faster; only values it refuses go through `validate`, which formats the issues. */
function fastSchema(schema: z.ZodObject): StandardSchema & { readonly shape: object } {
  const { validate } = schema["~standard"];
  const parser = schema._zod;
  return {
    /** The declared keys, for clients that strip unknown ones. A getter, because recursive shapes are not complete yet. */
    get shape() {
      return schema.shape;
    },
    "~standard": {
      version: 1,
      vendor: "zod",
      validate(value) {
        try {
          const result = parser.run({ value, issues: [] }, SYNC);
          if (!(result instanceof Promise) && result.issues.length === 0) return { value: result.value };
        } catch (error) {
          if (!(error instanceof z.core.$ZodAsyncError)) throw error;
        }
        return validate(value);
      },
      /** Undefined before Zod 4.2. A getter, because recursive shapes are not complete yet. */
      get jsonSchema() {
        return schema["~standard"].jsonSchema;
      },
    },
  };
}

const zod: Library = {
  strict(fields, where) {
    refuseZod3(fields as object, where);
    if (fields instanceof z.ZodObject) return fastSchema(fields.strict());
    if ("~standard" in (fields as object)) {
      throw new TypeError(
        `${where} is not a plain object schema, so its unknown keys cannot be refused. Pass z.object({ … }) or its fields, and move transforms to the fields.`,
      );
    }
    return fastSchema(z.strictObject(fields as Record<string, z.ZodType>));
  },
  item(schema, where) {
    refuseZod3(schema, where);
    return schema instanceof z.ZodObject ? fastSchema(schema.strict()) : schema;
  },
  keysOf: (fields) => Object.keys(fields instanceof z.ZodObject ? fields.shape : (fields as object)),
};

/** With Zod 3, schemas could be declared, but every message would fail. */
function refuseZod3(fields: object, where: string): void {
  // Not by a look at the namespace `z`: bundlers would then keep all of Zod.
  if (!("_zod" in z.strictObject({}))) {
    throw new TypeError(
      "@halyard/wire/zod needs Zod 4, but the installed package `zod` is an older version. Run `npm install zod@4`.",
    );
  }
  const foreign = "~standard" in fields ? !("_zod" in fields) && "The schema" : findForeignField(fields);
  if (!foreign) return;
  throw new TypeError(
    `${where}: ${foreign} was not made by Zod 4. Import z from "@halyard/wire/zod", so that both use the same version.`,
  );
}

/** Getters are not read: recursive shapes use them for schemas that do not exist yet. */
function findForeignField(shape: object): string | undefined {
  const fields = Object.entries(Object.getOwnPropertyDescriptors(shape));
  const foreign = fields.find(([, { value }]) => value !== undefined && !("_zod" in value));
  return foreign && `The field "${foreign[0]}"`;
}

/**
 * Declares a message. Unknown keys in payload and meta are refused.
 *
 * @example
 * ```ts
 * import { message, z } from "@halyard/wire/zod";
 *
 * const Left = message("LEFT");
 * const Said = message("SAID", { room: z.string(), text: z.string() });
 * const Moved = message("MOVED", { x: z.number() }, { room: z.string() });
 * const Sum = message("SUM", { payload: { terms: z.array(z.number()) }, response: { sum: z.number() } });
 * ```
 */
export function message<Type extends string>(
  type: Type,
): MessageSchema<Type, undefined, undefined, undefined>;
export function message<Type extends string, Second extends ZodFields | ZodConfig>(
  type: Type,
  second: Second & ZodJson<Second>,
): ZodMessage<Type, Second>;
export function message<Type extends string, Payload extends ZodFields, Meta extends ZodFields>(
  type: Type,
  payload: Payload & ZodJson<Payload>,
  meta: Meta & ZodJson<Meta>,
): MessageSchema<Type, ZodStandard<Payload>, ZodStandard<Meta>, undefined>;
export function message(type: string, second?: unknown, meta?: unknown): AnyMessageSchema {
  return buildMessage(zod, type, second, meta);
}

/** Declares a request and its response. Pass `undefined` for no payload. */
export function rpc<
  RequestType extends string,
  RequestPayload extends ZodFields | undefined,
  ResponseType extends string,
  ResponsePayload extends ZodFields | undefined,
>(
  requestType: RequestType,
  requestPayload: RequestPayload & ZodJson<RequestPayload>,
  responseType: ResponseType,
  responsePayload: ResponsePayload & ZodJson<ResponsePayload>,
): MessageSchema<
  RequestType,
  ZodStandard<RequestPayload>,
  undefined,
  MessageSchema<ResponseType, ZodStandard<ResponsePayload>, undefined, undefined>
>;
/**
 * Declares a request with typed progress, which the reader paces. With `durable`, its calls outlive their connection.
 *
 * @example
 * ```ts
 * import { rpc, z } from "@halyard/wire/zod";
 *
 * const Export = rpc("EXPORT", { table: z.string() }, "EXPORTED", { rows: z.number() }, { progress: z.object({ row: z.string() }) });
 * ```
 */
export function rpc<
  RequestType extends string,
  RequestPayload extends ZodFields | undefined,
  ResponseType extends string,
  ResponsePayload extends ZodFields | undefined,
  Options extends RpcOptionsOf<z.ZodType, ZodFields>,
>(
  requestType: RequestType,
  requestPayload: RequestPayload & ZodJson<RequestPayload>,
  responseType: ResponseType,
  responsePayload: ResponsePayload & ZodJson<ResponsePayload>,
  options: Options & OptionsJson<Options>,
): StreamOrDurable<
  Options,
  RequestType,
  ZodStandard<RequestPayload>,
  MessageSchema<ResponseType, ZodStandard<ResponsePayload>, undefined, undefined>
> &
  ErrorsOf<Options>;
export function rpc(
  requestType: string,
  requestPayload: unknown,
  responseType: string,
  responsePayload: unknown,
  options?: object,
): RpcSchema {
  return buildRpc(zod, requestType, requestPayload, responseType, responsePayload, options);
}

/**
 * A field of bytes: a `Uint8Array` in handlers, base64 in JSON. Files belong to HTTP uploads; a frame has at most
 * `limits.maxPayloadBytes`.
 *
 * @example
 * ```ts
 * import { bytes, message, z } from "@halyard/wire/zod";
 *
 * const Chunk = message("CHUNK", { name: z.string(), data: bytes({ maxBytes: 65_536 }) });
 * ```
 */
export function bytes(options?: BytesOptions): z.ZodType<Uint8Array, Uint8Array> {
  return z
    .custom<Uint8Array>((value) => isBytes(value, options), NOT_BYTES)
    .meta(describeBytes(options))
    .transform(toBytes) as unknown as z.ZodType<Uint8Array, Uint8Array>;
}

/** The options of `channel()`. */
export interface ZodChannelOptions<
  Pattern extends string,
  Params extends Readonly<Record<ParamNames<Pattern>, z.ZodType>> | undefined,
  Events extends readonly AnyMessageSchema[],
  Presence extends ZodFields | undefined,
> {
  /** One schema for each parameter in the name. The server refuses a join with other parameters. */
  readonly params?: Params & ZodJson<Params>;
  /** The messages that may be published on the channel. */
  readonly events: Events;
  /** What a member shows of itself. Default: the channel has no member list. */
  readonly presence?: Presence & ZodJson<Presence>;
  /** Keeps messages, so that a client resumes after a lost connection. Default: none. */
  readonly history?: ChannelHistory;
}

/**
 * Declares a channel: a topic that clients join, with typed parameters and events. Register it with `router.channel()`,
 * and join it with `joinChannel()`.
 *
 * @example
 * ```ts
 * import { channel, message, z } from "@halyard/wire/zod";
 *
 * const Said = message("SAID", { text: z.string() });
 * const Room = channel("room:{id}", { params: { id: z.string().max(64) }, events: [Said] });
 * ```
 */
export function channel<
  Pattern extends string,
  const Events extends readonly AnyMessageSchema[],
  Params extends Readonly<Record<ParamNames<Pattern>, z.ZodType>> | undefined = undefined,
  Presence extends ZodFields | undefined = undefined,
>(
  pattern: Pattern,
  options: ZodChannelOptions<Pattern, Params, Events, Presence>,
): Channel<ZodStandard<Params>, Events, ZodStandard<Presence>>;
export function channel(pattern: string, options: object): AnyChannel {
  return buildChannel(zod, pattern, options);
}
