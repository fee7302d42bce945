/** Schemas with Zod 4: object schemas and raw shapes are made strict. */
import { z } from "zod";
import { buildMessage, buildRpc, type Library } from "./build.ts";
import type { AnyMessageSchema, MessageSchema, RpcSchema } from "./message.ts";
import type { StandardSchema } from "./standard-schema.ts";

export { z };

/** An object schema, or the fields of one. */
export type ZodFields = z.ZodObject | Readonly<Record<string, z.ZodType>>;

/** The config form of `message()`. */
export interface ZodConfig {
  readonly payload?: ZodFields;
  /** A message schema, or the payload of a message that is then named `<type>_RESPONSE`. */
  readonly response?: ZodFields | AnyMessageSchema;
  readonly meta?: ZodFields;
}

/** What declared fields are on the wire: as given by the sender, as seen by the receiver. */
export type ZodStandard<F> = F extends z.ZodObject
  ? StandardSchema<z.input<F>, z.output<F>>
  : F extends Readonly<Record<string, z.ZodType>>
    ? StandardSchema<z.input<z.ZodObject<F>>, z.output<z.ZodObject<F>>>
    : undefined;

/** The message that `message(type, second)` declares: `second` is a config when it has only config keys, else the payload. */
export type ZodMessage<Type extends string, Second> = Second extends z.ZodType
  ? MessageSchema<Type, ZodStandard<Second>, undefined, undefined>
  : [keyof Second] extends [never]
    ? MessageSchema<Type, ZodStandard<Second>, undefined, undefined>
    : [keyof Second] extends [keyof ZodConfig]
      ? MessageSchema<
          Type,
          ZodStandard<Part<Second, "payload">>,
          ZodStandard<Part<Second, "meta">>,
          ZodResponse<Type, Part<Second, "response">>
        >
      : MessageSchema<Type, ZodStandard<Second>, undefined, undefined>;

type Part<C, K extends string> = C extends Record<K, infer P> ? P : undefined;

type ZodResponse<Type extends string, R> = R extends ZodFields
  ? MessageSchema<`${Type}_RESPONSE`, ZodStandard<R>, undefined, undefined>
  : R extends AnyMessageSchema
    ? R
    : undefined;

const SYNC = { async: false };

/** Runs the schema's parser directly, and through the front door only for what it refuses: that makes proper issues. */
function quick(schema: z.ZodObject): StandardSchema & { readonly shape: object } {
  const { validate } = schema["~standard"];
  const parser = schema._zod;
  return {
    /** The declared keys, for a client that strips others. Read late: recursive shapes are made of getters. */
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
    },
  };
}

const zod: Library = {
  strict(fields, where) {
    if (fields instanceof z.ZodObject) return quick(fields.strict());
    if ("~standard" in (fields as object)) {
      throw new TypeError(
        `${where} is not a plain object schema, so unknown keys in it cannot be refused. Give z.object({ … }) or its fields, and put transforms on the fields.`,
      );
    }
    return quick(z.strictObject(fields as Record<string, z.ZodType>));
  },
  keysOf: (fields) => Object.keys(fields instanceof z.ZodObject ? fields.shape : (fields as object)),
};

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
  second: Second,
): ZodMessage<Type, Second>;
export function message<Type extends string, Payload extends ZodFields, Meta extends ZodFields>(
  type: Type,
  payload: Payload,
  meta: Meta,
): MessageSchema<Type, ZodStandard<Payload>, ZodStandard<Meta>, undefined>;
export function message(type: string, second?: unknown, meta?: unknown): AnyMessageSchema {
  return buildMessage(zod, type, second, meta);
}

/** Declares a request and its response. `undefined` stands for no payload. */
export function rpc<
  RequestType extends string,
  RequestPayload extends ZodFields | undefined,
  ResponseType extends string,
  ResponsePayload extends ZodFields | undefined,
>(
  requestType: RequestType,
  requestPayload: RequestPayload,
  responseType: ResponseType,
  responsePayload: ResponsePayload,
): MessageSchema<
  RequestType,
  ZodStandard<RequestPayload>,
  undefined,
  MessageSchema<ResponseType, ZodStandard<ResponsePayload>, undefined, undefined>
>;
export function rpc(
  requestType: string,
  requestPayload: unknown,
  responseType: string,
  responsePayload: unknown,
): RpcSchema {
  return buildRpc(zod, requestType, requestPayload, responseType, responsePayload);
}
