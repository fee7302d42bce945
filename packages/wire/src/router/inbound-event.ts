/** The context of a message: of `on` handlers, and the base class of requests. One object per frame, without closures. */

import type { ChannelTarget } from "../channels/channel-target.ts";
import { isObject } from "../protocol/checks.ts";
import { isReservedMetaKey } from "../protocol/control.ts";
import { encode, type Meta } from "../protocol/envelope.ts";
import { type AnyErrorCode, type ErrorDetails, type ErrorPayload, WsError } from "../protocol/error.ts";
import type { PublishResult } from "../pubsub/pubsub.ts";
import type { AnyChannel } from "../schema/channel.ts";
import type { AnyMessageSchema } from "../schema/message.ts";
import { notASchema } from "../schema/message-schema.ts";
import { checkOutbound } from "../schema/validate.ts";
import type { HeldMessage } from "./connections/inbound-memory.ts";
import type { AnyData, ServerContext } from "./connections/peer.ts";
import { isShared, sharedFrame } from "./connections/shared-message.ts";
import type {
  ConnectionContext,
  ErrorOptions,
  MessageMeta,
  OpenContext,
  PublishOptions,
  SendOptions,
  Topics,
} from "./context.ts";
import type { Connection } from "./contracts.ts";
import { ConnectionTopics, subscribe, unsubscribe } from "./topics/topics.ts";

/** The members of every context that concern its connection; also the context of `onOpen`. */
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
    return subscribe(this.ws, this, topic);
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

  to(channel: AnyChannel, params: unknown): ChannelTarget<AnyChannel> {
    return this.ws.server.channels.target(channel, params, this.ws);
  }

  joined(channel: AnyChannel, params: unknown): boolean {
    return this.ws.server.channels.isMember(this.ws, channel, params);
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

  /** Timestamp of outbound frames in ms; undefined: read the clock. */
  protected get now(): number | undefined {
    return undefined;
  }

  /** The correlation id of the message being handled, if it has one. */
  protected get correlation(): string | undefined {
    return undefined;
  }

  protected transmit(
    schema: AnyMessageSchema,
    payload: unknown,
    options: SendOptions | undefined,
    correlationId: string | undefined,
  ): void | Promise<boolean> {
    if (typeof schema !== "object") throw new WsError("INTERNAL", notASchema("Sending a message", schema));
    if (options === undefined) {
      checkOutbound(this.ws.server.options.validator, schema, payload, undefined, "INTERNAL");
      this.ws.send(schema.type, payload, correlationId, this.now);
      return;
    }
    const shared =
      isShared(options) && correlationId === undefined && isObject(payload)
        ? sharedFrame(this.ws.server, schema, payload)
        : undefined;
    if (shared === undefined)
      checkOutbound(this.ws.server.options.validator, schema, payload, options.meta, "INTERNAL");
    if (options.signal?.aborted) return options.waitFor && Promise.resolve(false);
    const outcome =
      shared === undefined
        ? this.ws.sendFrame(
            encode(
              schema.type,
              { timestamp: this.ws.server.clock.wall(), ...outboundMeta(options.meta, correlationId) },
              payload,
            ),
          )
        : this.ws.sendFrame(shared.text, shared);
    if (options.waitFor === undefined) return;
    if (outcome === "dropped") return Promise.resolve(false);
    return options.waitFor === "ack"
      ? this.ws.whenAcknowledged(options.signal)
      : this.ws.whenDrained(options.signal);
  }
}

/** The context for a hook of the application. */
export function contextOf(connection: Connection): OpenContext<AnyData> {
  return new ConnectionScope(connection) as unknown as OpenContext<AnyData>;
}

/** The meta of an outbound frame, without the keys that are reserved for inbound messages. */
function outboundMeta(fields: object = {}, correlationId: string | undefined): Meta {
  const meta: Meta = {};
  for (const [key, value] of Object.entries(fields)) if (!isReservedMetaKey(key)) meta[key] = value;
  if (correlationId !== undefined) meta.correlationId = correlationId;
  return meta;
}

/** Created for every frame: its fields are assigned in the constructor (see `Call`). */
export class InboundEvent extends ConnectionScope {
  declare readonly type: string;
  declare readonly payload: unknown;
  declare readonly meta: MessageMeta;
  /** Set once the message outlives the turn of the event loop in which it arrived. */
  declare held: HeldMessage | undefined;

  constructor(connection: Connection, type: string, meta: MessageMeta, payload: unknown) {
    super(connection);
    this.type = type;
    this.meta = meta;
    this.payload = payload;
    this.held = undefined;
  }

  get isRpc(): boolean {
    return false;
  }

  get receivedAt(): number {
    return this.meta.receivedAt;
  }

  protected override get correlation(): string | undefined {
    return this.meta.correlationId;
  }

  error(code: AnyErrorCode, message?: string, details?: ErrorDetails, options?: ErrorOptions): void {
    this.failWith(new WsError(code, message, details, options).toPayload());
  }

  /** Sends the error frame of this message. */
  failWith(error: ErrorPayload): void {
    this.ws.sendError(error, this.correlation);
  }

  /** Ends the message without an error frame, because the application suppressed it. */
  end(): void {}

  /** Whether the router threw this error into the handler, because the message had ended. It is not reported again. */
  wasEndedBy(_error: unknown): boolean {
    return false;
  }

  /** The handler returned this value, or its promise resolved to it. Nothing is expected of an event. */
  returned(_value: unknown): void {}

  /** The handler returned a promise, or the message waits for its turn. */
  arm(): void {
    if (this.held !== undefined) return;
    const { ws } = this;
    this.held = ws.hold(this.receivedAt + ws.server.options.rpcTimeoutMs);
    ws.unsettledEvents++;
    if (this.meta.correlationId !== undefined) ws.unansweredEvents++;
  }

  /** The handler has finished. */
  settled(): void {
    const { held, ws } = this;
    if (held === undefined) return;
    this.held = undefined;
    ws.release(held);
    ws.unsettledEvents--;
    if (this.meta.correlationId !== undefined) ws.unansweredEvents--;
  }

  /** The message will not reach its handler. */
  drop(): void {
    this.settled();
  }

  timeRemaining(): number {
    return Number.POSITIVE_INFINITY;
  }
}
