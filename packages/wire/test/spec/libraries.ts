/** Zod and Valibot behind one interface, so that each test runs with both. */
import type { MessageSchema } from "../../src/schema/message.ts";
import type { InferInput, InferOutput, StandardSchema } from "../../src/schema/standard-schema.ts";
import * as valibotModule from "../../src/valibot.ts";
import { v } from "../../src/valibot.ts";
import * as zodModule from "../../src/zod.ts";
import { z } from "../../src/zod.ts";

type Fields = Readonly<Record<string, StandardSchema>>;
type Part = StandardSchema | Fields;

interface Config {
  readonly payload?: Part;
  readonly response?: Part | AnyMessage;
  readonly meta?: Part;
}

type AnyMessage = MessageSchema;
type Shown<T> = { [K in keyof T]: T[K] };
type OptionalKeys<S> = { [K in keyof S]: undefined extends S[K] ? K : never }[keyof S];
type Loosened<S> = Shown<Omit<S, OptionalKeys<S>> & Partial<Pick<S, OptionalKeys<S>>>>;
type InputOf<F extends Fields> = Loosened<{ [K in keyof F]: InferInput<F[K]> }>;
type OutputOf<F extends Fields> = Loosened<{ [K in keyof F]: InferOutput<F[K]> }>;
type SchemaOf<P> = P extends StandardSchema
  ? P
  : P extends Fields
    ? StandardSchema<InputOf<P>, OutputOf<P>>
    : undefined;
type Member<C, K extends string> = C extends Readonly<Record<K, infer P>> ? P : undefined;
type ResponseOf<Type extends string, R> = R extends AnyMessage
  ? R
  : R extends Part
    ? MessageSchema<`${Type}_RESPONSE`, SchemaOf<R>, undefined, undefined>
    : undefined;
type ConfigKeys<Second> = [keyof Second] extends [never]
  ? false
  : [keyof Second] extends [keyof Config]
    ? true
    : false;
type MessageOf<Type extends string, Second> =
  ConfigKeys<Second> extends true
    ? MessageSchema<
        Type,
        SchemaOf<Member<Second, "payload">>,
        SchemaOf<Member<Second, "meta">>,
        ResponseOf<Type, Member<Second, "response">>
      >
    : MessageSchema<Type, SchemaOf<Second>, undefined, undefined>;

export interface Library {
  readonly name: string;
  readonly createRouter: typeof zodModule.createRouter;
  message<Type extends string>(type: Type): MessageSchema<Type, undefined, undefined, undefined>;
  message<Type extends string, Second extends Part | Config>(
    type: Type,
    second: Second,
  ): MessageOf<Type, Second>;
  message<Type extends string, Payload extends Part, Meta extends Part>(
    type: Type,
    payload: Payload,
    meta: Meta,
  ): MessageSchema<Type, SchemaOf<Payload>, SchemaOf<Meta>, undefined>;
  rpc<
    Type extends string,
    Payload extends Part | undefined,
    ResponseType extends string,
    ResponsePayload extends Part | undefined,
  >(
    type: Type,
    payload: Payload,
    responseType: ResponseType,
    responsePayload: ResponsePayload,
  ): MessageSchema<
    Type,
    SchemaOf<Payload>,
    undefined,
    MessageSchema<ResponseType, SchemaOf<ResponsePayload>, undefined, undefined>
  >;
  string(): StandardSchema<string>;
  number(): StandardSchema<number>;
  unknown(): StandardSchema<unknown>;
  optional<I, O>(field: StandardSchema<I, O>): StandardSchema<I | undefined, O | undefined>;
  withDefault<I, O>(field: StandardSchema<I, O>, value: I): StandardSchema<I | undefined, O>;
  /** A field that is a string on the wire and a number for the receiver. */
  numeric(): StandardSchema<string, number>;
  /** A field whose validation is asynchronous. */
  checkedLater(): StandardSchema<string>;
  object<F extends Fields>(fields: F): StandardSchema<InputOf<F>, OutputOf<F>>;
  strictObject<F extends Fields>(fields: F): StandardSchema<InputOf<F>, OutputOf<F>>;
  looseObject<F extends Fields>(fields: F): StandardSchema<InputOf<F>, OutputOf<F>>;
  /** An object schema with a transform, which cannot be made strict. */
  transformed<F extends Fields>(fields: F): StandardSchema<InputOf<F>, unknown>;
}

type ZodShape = Readonly<Record<string, z.ZodType>>;
type ValibotField = v.GenericSchema;

/** The libraries share only Standard Schema, so the casts are here. */
const zod = {
  name: "Zod",
  createRouter: zodModule.createRouter,
  message: zodModule.message,
  rpc: zodModule.rpc,
  string: () => z.string(),
  number: () => z.number(),
  unknown: () => z.unknown(),
  optional: (field: z.ZodType) => field.optional(),
  withDefault: (field: z.ZodType, value: unknown) => field.default(value),
  numeric: () => z.string().transform(Number),
  checkedLater: () => z.string().refine(async () => true),
  object: (fields: ZodShape) => z.object(fields),
  strictObject: (fields: ZodShape) => z.strictObject(fields),
  looseObject: (fields: ZodShape) => z.looseObject(fields),
  transformed: (fields: ZodShape) => z.object(fields).transform((value) => value),
} as unknown as Library;

const valibot = {
  name: "Valibot",
  createRouter: valibotModule.createRouter,
  message: valibotModule.message,
  rpc: valibotModule.rpc,
  string: () => v.string(),
  number: () => v.number(),
  unknown: () => v.unknown(),
  optional: (field: ValibotField) => v.optional(field),
  withDefault: (field: ValibotField, value: unknown) => v.optional(field, value as never),
  numeric: () => v.pipe(v.string(), v.transform(Number)),
  checkedLater: () =>
    v.pipeAsync(
      v.string(),
      v.checkAsync(async () => true),
    ),
  object: (fields: v.ObjectEntries) => v.object(fields),
  strictObject: (fields: v.ObjectEntries) => v.strictObject(fields),
  looseObject: (fields: v.ObjectEntries) => v.looseObject(fields),
  transformed: (fields: v.ObjectEntries) =>
    v.pipe(
      v.object(fields),
      v.transform((value) => value),
    ),
} as unknown as Library;

export const libraries: readonly Library[] = [zod, valibot];
