/** The types of message and RPC schemas, and of the payloads and meta they describe. */
import type { InferInput, InferOutput, StandardSchema } from "./standard-schema.ts";

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

/** The schema of a request: a message schema with a response. */
export interface RpcSchema extends AnyMessageSchema {
  /** The schema of the response. */
  readonly response: AnyMessageSchema;
}

/** The payload as its sender passes it; undefined when there is none. */
export type PayloadInput<S extends AnyMessageSchema> = Input<S["payload"], undefined>;

/** The payload as its receiver gets it, after defaults and transforms. */
export type PayloadOutput<S extends AnyMessageSchema> = Output<S["payload"], undefined>;

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

/** The arguments after the schema when a message is sent. Payload and options are optional where the schema allows it. */
export type MessageArguments<S extends AnyMessageSchema, Options> =
  unknown extends PayloadInput<S>
    ? [payload?: PayloadInput<S>, options?: Options]
    : object extends Pick<MetaRequirement<S>, keyof MetaRequirement<S>>
      ? undefined extends PayloadInput<S>
        ? [payload?: PayloadInput<S>, options?: Options]
        : [payload: PayloadInput<S>, options?: Options]
      : [payload: PayloadInput<S>, options: Options & { readonly meta: MetaInput<S> }];

/** The `meta` option, required where the schema requires meta. */
export type MetaOption<S extends AnyMessageSchema> =
  object extends Pick<MetaRequirement<S>, keyof MetaRequirement<S>>
    ? unknown
    : { readonly meta: MetaInput<S> };

/** `{}` when the schema's meta can be left out. */
type MetaRequirement<S extends AnyMessageSchema> = unknown extends MetaOutput<S> ? object : MetaInput<S>;
