/** Message and RPC schemas, and the types they carry to handlers and callers. */
import type { InferInput, InferOutput, StandardSchema } from "./standard-schema.ts";

/** Any message schema, whatever its payload. */
export interface AnyMessageSchema {
  readonly type: string;
  readonly payload: StandardSchema | undefined;
  readonly meta: StandardSchema | undefined;
  readonly response: AnyMessageSchema | undefined;
}

/** What one message type looks like. Made by `message()`, shared by server and client. */
export interface MessageSchema<
  Type extends string = string,
  Payload extends StandardSchema | undefined = StandardSchema | undefined,
  Meta extends StandardSchema | undefined = StandardSchema | undefined,
  Response extends AnyMessageSchema | undefined = AnyMessageSchema | undefined,
> {
  readonly type: Type;
  readonly payload: Payload;
  /** The meta fields the application declares; the standard ones need no declaration. */
  readonly meta: Meta;
  /** The answer its sender expects, if it is a request. */
  readonly response: Response;
}

/** A message schema whose sender expects an answer. */
export interface RpcSchema extends AnyMessageSchema {
  readonly response: AnyMessageSchema;
}

/** The payload a sender of this message gives; `undefined` when it has none. */
export type PayloadInput<S extends AnyMessageSchema> = Input<S["payload"], undefined>;

/** The payload a receiver of this message gets, after defaults and transforms. */
export type PayloadOutput<S extends AnyMessageSchema> = Output<S["payload"], undefined>;

/** Meta every message may carry. */
export interface StandardMeta {
  /** The producer's time in ms since epoch; for display only. */
  timestamp?: number;
  correlationId?: string;
  timeoutMs?: number;
}

/** The meta a sender of this message may give: the standard keys, and those its schema declares. */
export type MetaInput<S extends AnyMessageSchema> = StandardMeta & Input<S["meta"], unknown>;

/** The declared meta a receiver gets. */
export type MetaOutput<S extends AnyMessageSchema> = Output<S["meta"], unknown>;

type Input<P, None> = P extends StandardSchema ? InferInput<P> : None;
type Output<P, None> = P extends StandardSchema ? InferOutput<P> : None;

/** A message as a receiver gets it. */
export interface ReceivedMessage<S extends AnyMessageSchema> {
  readonly type: S["type"];
  readonly meta: Readonly<StandardMeta & MetaOutput<S>>;
  readonly payload: PayloadOutput<S>;
}

/** What follows a schema when its message is sent: payload and options, as optional as the schema allows. */
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
