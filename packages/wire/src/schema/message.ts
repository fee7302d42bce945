/** The types of message and RPC schemas, and of the payloads and meta they describe. */

import type { AnyErrors, ErrorConfigs, ReadError, SchemaOf } from "./declared-errors.ts";
import type { InferInput, InferOutput, StandardSchema } from "./standard-schema.ts";
import type { OpenStream } from "./stream.ts";

/** A message schema with any payload. */
export interface AnyMessageSchema {
  /** The message type. */
  readonly type: string;
  /** The schema of the payload; undefined when there is none. */
  readonly payload: StandardSchema | undefined;
  /** The schema of the meta fields of the application. */
  readonly meta: StandardSchema | undefined;
  /** The response, if the message is a request. */
  readonly response: AnyMessageSchema | undefined;
  /** The schema of the request's progress items; undefined: progress is not typed. */
  readonly progress?: StandardSchema | undefined;
  /** For the client: reads typed progress. In the schema, so that only pages with typed progress load it. */
  readonly stream?: OpenStream | undefined;
  /** Set when calls of this request outlive their connection. */
  readonly durable?: DurableConfig | undefined;
  /** The errors that the request declares. */
  readonly errors?: AnyErrors | undefined;
  /** For the client: recognizes declared errors. */
  readonly readError?: ReadError | undefined;
}

/** How a durable call is kept. */
export interface DurableConfig {
  /** How long the items and the end of a call are kept after its end, in ms. */
  readonly keepMs: number;
}

/** Describes one message type. Created by `message()`, shared by server and client. */
export interface MessageSchema<
  Type extends string = string,
  Payload extends StandardSchema | undefined = StandardSchema | undefined,
  Meta extends StandardSchema | undefined = StandardSchema | undefined,
  Response extends AnyMessageSchema | undefined = AnyMessageSchema | undefined,
> {
  /** The message type. */
  readonly type: Type;
  /** The schema of the payload; undefined when there is none. */
  readonly payload: Payload;
  /** The meta fields of the application; the standard fields need no declaration. */
  readonly meta: Meta;
  /** The response, if the message is a request. */
  readonly response: Response;
}

/** A request with typed progress: `rpc(…, { progress })`. */
export interface StreamSchema<
  Type extends string = string,
  Payload extends StandardSchema | undefined = StandardSchema | undefined,
  Response extends AnyMessageSchema = AnyMessageSchema,
  Progress extends StandardSchema = StandardSchema,
> extends MessageSchema<Type, Payload, undefined, Response> {
  /** The schema of the progress items. */
  readonly progress: Progress;
  /** For the client: reads typed progress. */
  readonly stream: OpenStream;
}

/** A request whose calls outlive their connection: `rpc(…, { progress, durable })`. */
export interface DurableSchema<
  Type extends string = string,
  Payload extends StandardSchema | undefined = StandardSchema | undefined,
  Response extends AnyMessageSchema = AnyMessageSchema,
  Progress extends StandardSchema = StandardSchema,
> extends StreamSchema<Type, Payload, Response, Progress> {
  /** How calls are kept. */
  readonly durable: DurableConfig;
}

/** The options of `rpc()`. */
export interface RpcOptions<Progress = StandardSchema, Errors = ErrorConfigs<StandardSchema>> {
  /** The schema of the progress items: checked at both ends, and paced by the reader. */
  readonly progress: Progress;
  /** The errors that `ctx.fail()` may end the request with, by name. */
  readonly errors?: Errors;
  /** Calls outlive their connection, and can be read from another one. */
  readonly durable?: DurableConfig;
}

/** The options of `rpc()`: progress, errors, or both. Only a call with progress is durable. */
export type RpcOptionsOf<Progress, Fields> =
  | RpcOptions<Progress, ErrorConfigs<Fields>>
  | ({ readonly errors: ErrorConfigs<Fields> } & { readonly [K in "progress" | "durable"]?: undefined });

/** The result of `rpc()` with options. */
export type StreamOrDurable<
  Options,
  Type extends string,
  Payload extends StandardSchema | undefined,
  Response extends AnyMessageSchema,
> = Options extends { readonly progress: infer Progress extends object }
  ? Options extends { readonly durable: DurableConfig }
    ? DurableSchema<Type, Payload, Response, SchemaOf<Progress>>
    : StreamSchema<Type, Payload, Response, SchemaOf<Progress>>
  : MessageSchema<Type, Payload, undefined, Response>;

/** The schema of a request: a message schema with a response. */
export interface RpcSchema extends AnyMessageSchema {
  /** The schema of the response. */
  readonly response: AnyMessageSchema;
}

/** The payload as its sender passes it; undefined when there is none. */
export type PayloadInput<S extends AnyMessageSchema> = Input<S["payload"], undefined>;

/** The payload as its receiver gets it, after defaults and transforms. */
export type PayloadOutput<S extends AnyMessageSchema> = Output<S["payload"], undefined>;

/** A progress item as the handler passes it; `unknown` when progress is not typed. */
export type ProgressInput<S extends AnyMessageSchema> = [S["progress"]] extends [StandardSchema]
  ? InferInput<S["progress"]>
  : unknown;

/** A progress item as the caller gets it; `unknown` when progress is not typed. */
export type ProgressOutput<S extends AnyMessageSchema> = [S["progress"]] extends [StandardSchema]
  ? InferOutput<S["progress"]>
  : unknown;

/** The meta fields of every message. */
export interface StandardMeta {
  /** The sender's time in ms since epoch; for display only. */
  timestamp?: number;
  /** Connects a request with its response. */
  correlationId?: string;
  /** How long the caller waits, in ms. */
  timeoutMs?: number;
}

/** The meta as its sender passes it: the standard keys and those the schema declares. */
export type MetaInput<S extends AnyMessageSchema> = StandardMeta & Input<S["meta"], unknown>;

/** The declared meta as its receiver gets it. */
export type MetaOutput<S extends AnyMessageSchema> = Output<S["meta"], unknown>;

type Input<P, None> = P extends StandardSchema ? InferInput<P> : None;
type Output<P, None> = P extends StandardSchema ? InferOutput<P> : None;

/** A message as its receiver gets it. */
export interface ReceivedMessage<S extends AnyMessageSchema> {
  /** The message type. */
  readonly type: S["type"];
  /** The validated meta. */
  readonly meta: Readonly<StandardMeta & MetaOutput<S>>;
  /** The validated payload; undefined when the schema has none. */
  readonly payload: PayloadOutput<S>;
}
