/** Schemas with Valibot: object schemas and raw shapes are made strict. */
import * as v from "valibot";
import { buildMessage, buildRpc, type Library } from "./build.ts";
import type { AnyMessageSchema, MessageSchema, RpcSchema } from "./message.ts";
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
  readonly payload?: ValibotFields;
  /** A message schema, or the payload of a message that is then named `<type>_RESPONSE`. */
  readonly response?: ValibotFields | AnyMessageSchema;
  readonly meta?: ValibotFields;
}

/** What declared fields are on the wire: as given by the sender, as seen by the receiver. */
export type ValibotStandard<F> = F extends { readonly entries: infer E extends v.ObjectEntries }
  ? StandardOf<E>
  : F extends v.ObjectEntries
    ? StandardOf<F>
    : undefined;

type StandardOf<E extends v.ObjectEntries> = StandardSchema<
  v.InferInput<v.StrictObjectSchema<E, undefined>>,
  v.InferOutput<v.StrictObjectSchema<E, undefined>>
>;

/** The message that `message(type, second)` declares: `second` is a config when it has only config keys, else the payload. */
export type ValibotMessage<Type extends string, Second> = Second extends ObjectSchema
  ? MessageSchema<Type, ValibotStandard<Second>, undefined, undefined>
  : [keyof Second] extends [never]
    ? MessageSchema<Type, ValibotStandard<Second>, undefined, undefined>
    : [keyof Second] extends [keyof ValibotConfig]
      ? MessageSchema<
          Type,
          ValibotStandard<Part<Second, "payload">>,
          ValibotStandard<Part<Second, "meta">>,
          ValibotResponse<Type, Part<Second, "response">>
        >
      : MessageSchema<Type, ValibotStandard<Second>, undefined, undefined>;

type Part<C, K extends string> = C extends Record<K, infer P> ? P : undefined;

type ValibotResponse<Type extends string, R> = R extends ValibotFields
  ? MessageSchema<`${Type}_RESPONSE`, ValibotStandard<R>, undefined, undefined>
  : R extends AnyMessageSchema
    ? R
    : undefined;

const valibot: Library = {
  strict(fields, where) {
    if (!("~standard" in (fields as object))) return quick(strictObject(fields as v.ObjectEntries));
    if (isObjectSchema(fields) && !("pipe" in fields)) {
      return quick(fields.type === "strict_object" ? fields : strictObject(fields.entries));
    }
    throw new TypeError(
      `${where} is not a plain object schema, so unknown keys in it cannot be refused. Give v.object({ … }) or its fields, and put pipes on the fields.`,
    );
  },
  keysOf: (fields) => Object.keys(isObjectSchema(fields) ? fields.entries : (fields as object)),
};

type StrictSchema = StandardSchema & { readonly entries: object };

/** Valibot makes `~standard` anew each time it is read; this reads it once. */
function quick(schema: StrictSchema): StrictSchema {
  return { "~standard": schema["~standard"], entries: schema.entries };
}

/**
 * A synchronous object takes the promise of an asynchronous field for a result without issues, and so would accept
 * anything. An asynchronous one gives a promise, which the router refuses.
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
  second: Second,
): ValibotMessage<Type, Second>;
export function message<Type extends string, Payload extends ValibotFields, Meta extends ValibotFields>(
  type: Type,
  payload: Payload,
  meta: Meta,
): MessageSchema<Type, ValibotStandard<Payload>, ValibotStandard<Meta>, undefined>;
export function message(type: string, second?: unknown, meta?: unknown): AnyMessageSchema {
  return buildMessage(valibot, type, second, meta);
}

/** Declares a request and its response. `undefined` stands for no payload. */
export function rpc<
  RequestType extends string,
  RequestPayload extends ValibotFields | undefined,
  ResponseType extends string,
  ResponsePayload extends ValibotFields | undefined,
>(
  requestType: RequestType,
  requestPayload: RequestPayload,
  responseType: ResponseType,
  responsePayload: ResponsePayload,
): MessageSchema<
  RequestType,
  ValibotStandard<RequestPayload>,
  undefined,
  MessageSchema<ResponseType, ValibotStandard<ResponsePayload>, undefined, undefined>
>;
export function rpc(
  requestType: string,
  requestPayload: unknown,
  responseType: string,
  responsePayload: unknown,
): RpcSchema {
  return buildRpc(valibot, requestType, requestPayload, responseType, responsePayload);
}
