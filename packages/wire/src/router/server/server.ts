/** A running server of a router: `Server` of `contracts.ts`. It owns connections and topics, so that one router may have several servers. */
import { type Clock, systemClock } from "@halyard/base";
import type { ChannelRegistry } from "../../channels/registry.ts";
import { ServerChannels } from "../../channels/server-channels.ts";
import {
  CLOSE,
  CONTROL,
  type ControlType,
  DEFAULT_HEARTBEAT_TIMEOUT_MS,
  type Hello,
} from "../../protocol/control.ts";
import { WsError } from "../../protocol/error.ts";
import type { PublishResult, PubSub, PubSubStatus } from "../../pubsub/pubsub.ts";
import type { AnyMessageSchema } from "../../schema/message.ts";
import { type Timers, TimerWheel } from "../../time/timers.ts";
import { knownRegistryOf } from "../calls/call-registry.ts";
import { Buffers } from "../connections/buffers.ts";
import { ServerConnection } from "../connections/connection.ts";
import type { ConnectionFollower } from "../connections/connection-follower.ts";
import { startFollower } from "../connections/followed-server.ts";
import { DEFAULT_HANDSHAKE_TIMEOUT_MS, inHandshakeTime } from "../connections/handshake-deadline.ts";
import { Heartbeat } from "../connections/heartbeat.ts";
import { InboundMemory } from "../connections/inbound-memory.ts";
import type { AnyData, Peer, ServerContext, SharedFrame, Socket } from "../connections/peer.ts";
import type { ErrorContext, PublishOptions } from "../context.ts";
import type { Connection, Server, TopicWatcher } from "../contracts.ts";
import { type Hooks, type LimitExceededInfo, logError, runErrorHooks } from "../hooks.ts";
import { ConnectionScope } from "../inbound-event.ts";
import { isDevelopment, type ResolvedOptions } from "../options.ts";
import { guard, pendingOf } from "../pending.ts";
import type { Routes } from "../routes.ts";
import { NativeTopics } from "../topics/native-topics.ts";
import { publish } from "../topics/publication.ts";
import type { Publisher } from "../topics/publisher.ts";
import { ServerTopics } from "../topics/server-topics.ts";
import { enroll } from "../topics/topics.ts";
import { createCounters, type ServerCounters } from "./counters.ts";
import { figuresOf, type Metrics } from "./metrics.ts";
import type { AcceptOptions, ServerOptions } from "./server-options.ts";

/** The parts of a router that a server uses. */
export interface RouterParts {
  readonly routes: Routes;
  readonly hooks: Hooks;
  readonly options: ResolvedOptions;
  readonly channels: ChannelRegistry;
  pubsub(): PubSub;
  /** The first client is connected, or the first one after all others have gone. */
  connected(): void;
}

const warnedTypes = new Set<string>();
const abortedTypes = new Set<string>();

export class RouterServer implements Server {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly options: ResolvedOptions;
  readonly routes: Routes;
  readonly context: ServerContext;
  readonly connections: Set<Connection> = new Set();
  readonly buffers: Buffers;
  readonly counters: ServerCounters = createCounters();
  readonly inbound: InboundMemory;
  readonly refresh: ServerOptions["refresh"];
  readonly handshakeTimeoutMs: number;
  readonly metrics: Metrics | undefined;
  heartbeat: Heartbeat | undefined;
  readonly channels: ServerChannels;
  readonly #router: RouterParts;
  readonly native: NativeTopics | undefined;
  readonly #adapter: ServerOptions;
  readonly #stopped: () => void;
  readonly #unobserve: (() => void) | undefined;
  readonly #follower: ConnectionFollower | undefined;
  #emptied: (() => void) | undefined;
  #end: Promise<void> | undefined;
  readonly #topics: ServerTopics;

  /** `stopped` is called when the server stops. */
  constructor(router: RouterParts, adapter: ServerOptions, stopped: () => void) {
    this.clock = adapter.clock ?? systemClock;
    this.timers = adapter.timers ?? new TimerWheel(this.clock);
    this.options = router.options;
    this.routes = router.routes;
    this.context = adapter.context ?? {};
    this.refresh = adapter.refresh;
    this.handshakeTimeoutMs = adapter.handshakeTimeoutMs ?? DEFAULT_HANDSHAKE_TIMEOUT_MS;
    this.buffers = new Buffers(this, router.options.processBufferBudgetBytes, adapter.isolated ?? false);
    this.inbound = new InboundMemory(router.options, this.counters, this.clock, adapter.isolated ?? false);
    this.#router = router;
    this.channels = new ServerChannels(this, router.channels, adapter);
    this.#adapter = adapter;
    this.#stopped = stopped;
    this.native = adapter.nativePublish && new NativeTopics(this, adapter.nativePublish);
    this.#topics = new ServerTopics(this, this.native, adapter);
    this.metrics = router.options.metrics;
    // An isolated server is never stopped explicitly, so metrics would keep it forever.
    if (!adapter.isolated)
      this.#unobserve = this.metrics?.observe(
        figuresOf(this.connections, this.#topics.members, this.counters, this.inbound),
        this.options.pubsub,
      );
    this.#follower = startFollower(this, adapter);
  }

  get brokerStatus(): PubSubStatus | undefined {
    return this.options.pubsub?.status;
  }

  get pubsub(): PubSub {
    return this.#router.pubsub();
  }

  accept(socket: Socket, data: AnyData, options: AcceptOptions = {}): Connection {
    const { greets = true } = options;
    const connection = new ServerConnection(this, socket, data, greets);
    if (this.connections.size === 0) this.#router.connected();
    this.connections.add(connection);
    if (this.options.heartbeat !== undefined && this.#adapter.heartbeat !== false) {
      this.heartbeat ??= new Heartbeat(this, this.options.heartbeat);
      connection.lastSeenAt = this.clock.now();
    }
    connection.expireAt(data["expiresAt"]);
    this.#follower?.opened(connection);
    if (options.resumedTopics !== undefined) return this.#resumed(connection, options.resumedTopics, options);
    if (greets) connection.send(CONTROL.hello, this.#hello(data));
    this.#opened(connection, options);
    return connection;
  }

  /** Keeps the connection's permissions: neither `onAuth` nor `authorizeTopic` runs again. */
  #resumed(
    connection: ServerConnection,
    topics: readonly string[],
    { admitted = true, closing, resumedChannels = [] }: AcceptOptions,
  ): Connection {
    connection.admitted = admitted;
    if (closing !== undefined) connection.awaitClose(closing.code, closing.reason);
    connection.topics = new Set(topics);
    for (const topic of topics) this.#guard(() => enroll(connection, topic), undefined);
    this.channels.restore(connection, resumedChannels);
    return connection;
  }

  #hello(data: AnyData): Hello {
    const { heartbeat, maxPayloadBytes } = this.options;
    return {
      v: 1,
      clientId: data.clientId,
      heartbeatMs: heartbeat?.intervalMs ?? 0,
      timeoutMs: heartbeat?.timeoutMs ?? DEFAULT_HEARTBEAT_TIMEOUT_MS,
      maxPayloadBytes,
      ...(typeof data["expiresAt"] === "number" && { expiresAt: data["expiresAt"] }),
    };
  }

  #opened(connection: Connection, options: AcceptOptions): void {
    const scope = new ConnectionScope(connection);
    /** Hooks may change the data directly, also after an await. */
    const run = (hook: () => unknown): void =>
      this.#guard(() => pendingOf(hook())?.finally(() => connection.socket.changed?.("data")), scope);
    run(() => {
      const pending = pendingOf(options.upgraded?.(connection));
      return pending && this.#inTime("onUpgrade", pending, undefined, connection, scope);
    });
    run(() => this.#adapter.onOpen?.(connection));
    for (const hook of this.#router.hooks.open) run(() => hook(scope as never));
  }

  /** Reports the error to the adapter: a late hook is not the fault of a message. */
  #inTime<T>(hook: string, pending: Promise<T>, late: T, ws: Peer | undefined, ctx: ErrorContext<AnyData>) {
    return inHandshakeTime(this, hook, pending, late, ws, (error) => this.#reportHook(error, ctx));
  }

  forget(connection: Connection, code: number, reason: string): void {
    this.connections.delete(connection);
    this.metrics?.closed(code);
    this.#follower?.closed(connection);
    if (this.connections.size === 0) this.#emptied?.();
    this.#topics.forget(connection);
    this.channels.closed(connection);
    const ctx = Object.assign(new ConnectionScope(connection), { code, reason });
    for (const hook of this.#router.hooks.close) this.#guard(() => hook(ctx as never), ctx);
    this.#guard(() => this.#adapter.onClose?.(connection, code, reason), ctx);
  }

  // --- admission ---

  authorize(message: ErrorContext<AnyData>): boolean | Promise<boolean> {
    const hooks = this.#router.hooks.auth;
    const runFrom = (at: number): boolean | Promise<boolean> => {
      const hook = hooks[at];
      if (hook === undefined) return true;
      const verdict: unknown = hook(message as never);
      const pending = pendingOf(verdict);
      if (pending === undefined) return verdict === true && runFrom(at + 1);
      return pending.then((admitted) => admitted === true && runFrom(at + 1));
    };
    const refuse = (error: unknown): false => {
      this.report(error, message);
      return false;
    };
    try {
      const verdict = runFrom(0);
      if (typeof verdict === "boolean") return verdict;
      return this.#inTime("onAuth", verdict, false, message.ws, message).catch(refuse);
    } catch (error) {
      return refuse(error);
    }
  }

  admit(connection: Connection, admitted: boolean): void {
    if (admitted) {
      connection.admitted = true;
      connection.socket.changed?.("state");
    } else connection.close(CLOSE.unauthenticated, "not authenticated");
  }

  // --- topics ---

  subscribe(connection: Connection, topic: string): void | Promise<void> {
    return this.#topics.subscribe(connection, topic);
  }

  confirmed(topic: string): Promise<void> | undefined {
    return this.#topics.confirmed(topic);
  }

  unsubscribe(connection: Connection, topic: string): void | Promise<void> {
    return this.#topics.unsubscribe(connection, topic);
  }

  watch(topic: string, watcher: TopicWatcher): Promise<void> | undefined {
    return this.#topics.watch(topic, watcher);
  }

  unwatch(topic: string): void {
    this.#topics.unwatch(topic);
  }

  memberCount(topic: string): number {
    return this.#topics.memberCount(topic);
  }

  broadcast(frame: SharedFrame): number {
    return this.#topics.broadcast(frame);
  }

  sendToMembers(topic: string, type: ControlType, payload: object): void {
    this.#topics.sendToMembers(topic, type, payload);
  }

  publish(
    topic: string,
    schema: AnyMessageSchema,
    payload: unknown,
    options: PublishOptions,
    from?: Connection,
  ): Promise<PublishResult> {
    return publish(this.publisher(from), topic, schema, payload, options.meta, {
      excludeClientId: options.excludeSelf ? from?.clientId : undefined,
      partitionKey: options.partitionKey,
    });
  }

  publisher(from?: Connection): Publisher {
    return {
      pubsub: this.#router.pubsub(),
      validator: this.options.validator,
      clock: this.clock,
      maxFrameBytes: this.options.maxOutboundFrameBytes,
      failed: (error: unknown) => this.reportOutside(error),
      invalid: (error: WsError, type: string | undefined) =>
        this.report(error, { clientId: from?.clientId ?? "", type }),
    };
  }

  // --- reports ---

  report(thrown: unknown, ctx: ErrorContext<AnyData>): boolean {
    return runErrorHooks(this.#router.hooks, WsError.wrap(thrown, "INTERNAL"), ctx);
  }

  /** Errors of hooks belong to no message; without an adapter's `onError`, the router's hooks get them. */
  #reportHook(error: unknown, ctx: ErrorContext<AnyData>): void {
    if (this.#adapter.onError === undefined) this.report(error, ctx);
    else this.reportOutside(error, ctx.clientId);
  }

  reportOutside(thrown: unknown, clientId?: string): void {
    const error = WsError.wrap(thrown, "INTERNAL");
    if (this.#adapter.onError === undefined) return logError(error);
    guard(
      () => this.#adapter.onError?.(error, clientId === undefined ? {} : { clientId }),
      (failure) => logError(failure),
    );
  }

  limitExceeded(info: LimitExceededInfo<AnyData>): void {
    for (const hook of this.#router.hooks.limit) this.#guard(() => hook(info as never), undefined);
  }

  warnIncomplete(type: string): void {
    if (warnedTypes.has(type)) return;
    warnedTypes.add(type);
    console.warn(
      `[halyard] The handler of ${type} finished without a response, so its caller waits until the deadline. Return the response, or call ctx.reply() or ctx.error().`,
    );
  }

  noteAbort(type: string): void {
    if (!isDevelopment() || abortedTypes.has(type)) return;
    abortedTypes.add(type);
    console.info(
      `[halyard] A client cancelled its request ${type} before the response. The handler continues unless it reads ctx.abortSignal or calls ctx.onCancel(), and its response is not sent. Logged once per type, in development.`,
    );
  }

  /** Runs a hook and reports its errors, so that they cannot stop the server. */
  #guard(hook: () => unknown, ctx: ErrorContext<AnyData> | undefined): void {
    guard(hook, (error) => {
      if (ctx === undefined) this.reportOutside(error);
      else this.#reportHook(error, ctx);
    });
  }

  // --- end ---

  stop(reason = ""): Promise<void> {
    this.#end ??= this.#close(reason);
    return this.#end;
  }

  #close(reason: string): Promise<void> {
    this.heartbeat?.stop();
    this.heartbeat = undefined;
    this.#stopped();
    this.#follower?.stopped();
    const told = this.channels.stop();
    this.#unobserve?.();
    this.buffers.remove();
    for (const connection of [...this.connections]) connection.close(CLOSE.restarting, reason);
    const calls = knownRegistryOf(this.#router.pubsub());
    // Other processes learn at once that the durable calls of this server have ended.
    const abandoned = calls?.abandon((run) => run.ws.server === this);
    const ended = Promise.all([told, abandoned]).then(() => undefined);
    if (this.connections.size === 0) return ended;
    return new Promise((resolve) => {
      this.#emptied = () => resolve(ended);
    });
  }
}
