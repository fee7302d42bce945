/** A message on its way to a handler: the context of `on` handlers, and the base of requests. One object per frame, no closures. */
import { isReservedMetaKey } from "../protocol/control.ts";
import { encode, type Meta } from "../protocol/envelope.ts";
import { type AnyErrorCode, type ErrorDetails, type ErrorPayload, WsError } from "../protocol/error.ts";
import type { PublishResult } from "../pubsub/pubsub.ts";
import type { AnyMessageSchema } from "../schema/message.ts";
import { checkOutbound } from "../schema/validate.ts";
import type { AnyData, Connection } from "./connection.ts";
import type {
  ConnectionContext,
  ErrorOptions,
  MessageMeta,
  PublishOptions,
  SendOptions,
  Topics,
} from "./context.ts";
import type { ServerContext } from "./peer.ts";
import { ConnectionTopics, subscribe, unsubscribe } from "./topics.ts";

/** What every context can do with its connection; also the context of `onOpen`. */
export class ConnectionScope implements ConnectionContext<AnyData> {
  declare readonly ws: Connection;

  constructor(connection: Connection) {
    this.ws = connection;
  }

  get clientId(): string {
    return this.ws.clientId;
  }

  get data(): AnyData {
    return this.ws.data;
  }

  get context(): ServerContext {
    return this.ws.context;
  }

  get topics(): Topics {
    return new ConnectionTopics(this.ws, this);
  }

  assignData(partial: Record<string, unknown>): void {
    this.ws.assignData(partial);
  }

  getData<K extends keyof AnyData>(key: K): AnyData[K] | undefined {
    return this.data[key];
  }

  subscribe(topic: string): void | Promise<void> {
    const pending = subscribe(this.ws, this, topic);
    // Whoever awaits it hears of a refusal; nobody has to, and that must not end the process.
    pending?.catch(() => undefined);
    return pending;
  }

  unsubscribe(topic: string): void | Promise<void> {
    return unsubscribe(this.ws, topic);
  }

  publish(
    topic: string,
    schema: AnyMessageSchema,
    payload?: unknown,
    options: PublishOptions = {},
  ): Promise<PublishResult> {
    return this.ws.server.publish(topic, schema, payload, options, this.ws);
  }

  send(
    schema: AnyMessageSchema,
    payload: unknown,
    options: SendOptions & { waitFor: "drain" | "ack" },
  ): Promise<boolean>;
  send(schema: AnyMessageSchema, payload?: unknown, options?: SendOptions): void;
  send(schema: AnyMessageSchema, payload?: unknown, options?: SendOptions): void | Promise<boolean> {
    return this.transmit(
      schema,
      payload,
      options,
      options?.inheritCorrelationId ? this.correlation : undefined,
    );
  }

  /** Wall time for what is sent; undefined: read the clock. */
  protected get now(): number | undefined {
    return undefined;
  }

  /** The id of the message being handled, if it has one. */
  protected get correlation(): string | undefined {
    return undefined;
  }

  protected transmit(
    schema: AnyMessageSchema,
    payload: unknown,
    options: SendOptions | undefined,
    correlationId: string | undefined,
  ): void | Promise<boolean> {
    checkOutbound(this.ws.server.options.validator, schema, payload, options?.meta, "INTERNAL");
    if (options === undefined) {
      this.ws.send(schema.type, payload, correlationId, this.now);
      return;
    }
    if (options.signal?.aborted) return options.waitFor && Promise.resolve(false);
    const outcome = this.ws.sendFrame(
      encode(
        schema.type,
        { timestamp: this.ws.server.clock.wall(), ...outboundMeta(options.meta, correlationId) },
        payload,
      ),
    );
    if (options.waitFor === undefined) return;
    if (outcome === "dropped") return Promise.resolve(false);
    return options.waitFor === "ack"
      ? this.ws.whenAcknowledged(options.signal)
      : this.ws.whenDrained(options.signal);
  }
}

/** The meta of a frame we send: never the keys that only describe what came in. */
function outboundMeta(given: object = {}, correlationId: string | undefined): Meta {
  const meta: Meta = {};
  for (const [key, value] of Object.entries(given)) if (!isReservedMetaKey(key)) meta[key] = value;
  if (correlationId !== undefined) meta.correlationId = correlationId;
  return meta;
}

/** Made per frame: its fields are assigned, not defined (see `InboundCall`). */
export class InboundEvent extends ConnectionScope {
  declare readonly type: string;
  declare readonly payload: unknown;
  declare readonly meta: MessageMeta;
  declare private isUnsettled: boolean;

  constructor(connection: Connection, type: string, meta: MessageMeta, payload: unknown) {
    super(connection);
    this.type = type;
    this.meta = meta;
    this.payload = payload;
    this.isUnsettled = false;
  }

  get isRpc(): boolean {
    return false;
  }

  get receivedAt(): number {
    return this.meta.receivedAt;
  }

  /** The id of the request this frame is, if it is one. */
  protected override get correlation(): string | undefined {
    return this.meta.correlationId;
  }

  error(code: AnyErrorCode, message?: string, details?: ErrorDetails, options?: ErrorOptions): void {
    this.fail(new WsError(code, message, details, options).toPayload());
  }

  /** Sends the error frame of this message. */
  fail(error: ErrorPayload): void {
    this.ws.sendError(error, this.correlation);
  }

  /** Ends the message without a word, because the application asked for that. */
  end(): void {}

  /** The handler returned a promise. */
  arm(): void {
    if (this.isUnsettled) return;
    this.isUnsettled = true;
    this.ws.unsettledEvents++;
  }

  /** The handler is done. */
  settled(): void {
    if (!this.isUnsettled) return;
    this.isUnsettled = false;
    this.ws.unsettledEvents--;
  }

  timeRemaining(): number {
    return Number.POSITIVE_INFINITY;
  }
}
