/** A running server of a router: its connections and topics belong here, so that one router may serve several. */
import { CLOSE, CONTROL, type Hello } from "../protocol/control.ts";
import { isApplicationFrame } from "../protocol/envelope.ts";
import { WsError } from "../protocol/error.ts";
import type { PublishResult, PubSub, PubSubStatus, Subscriber } from "../pubsub/pubsub.ts";
import type { AnyMessageSchema } from "../schema/message.ts";
import { Buffers } from "./buffers.ts";
import { tellBusGap } from "./bus-gap.ts";
import { type Clock, systemClock } from "./clock.ts";
import { type AnyData, Connection } from "./connection.ts";
import type { ErrorContext, PublishOptions } from "./context.ts";
import { createCounters, type ServerCounters } from "./counters.ts";
import { Heartbeat } from "./heartbeat.ts";
import type { Hooks, LimitExceededInfo } from "./hooks.ts";
import { ConnectionScope, type InboundEvent } from "./inbound-event.ts";
import { figuresOf, type Metrics } from "./metrics.ts";
import { NativeTopics } from "./native-topics.ts";
import { DEFAULT_HEARTBEAT_TIMEOUT_MS, type ResolvedOptions } from "./options.ts";
import type { ServerContext, SharedFrame, Socket } from "./peer.ts";
import { pendingOf } from "./pending.ts";
import { publish } from "./publish.ts";
import type { Routes } from "./routes.ts";
import type { AcceptOptions, ServerOptions } from "./server-options.ts";
import { type Timers, TimerWheel } from "./timers.ts";

/** What a server needs of its router. */
export interface RouterParts {
  readonly routes: Routes;
  readonly hooks: Hooks;
  readonly options: ResolvedOptions;
  pubsub(): PubSub;
}

const warnedTypes = new Set<string>();

export class Server implements Subscriber {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly options: ResolvedOptions;
  readonly routes: Routes;
  readonly context: ServerContext;
  readonly connections: Set<Connection> = new Set();
  readonly buffers: Buffers;
  /** What was not delivered, since the start. */
  readonly counters: ServerCounters = createCounters();
  readonly refresh: ServerOptions["refresh"];
  readonly metrics: Metrics | undefined;
  /** There from the first connection on, if the router has one. */
  heartbeat: Heartbeat | undefined;
  readonly #router: RouterParts;
  /** Where the platform's engine has topics of its own. */
  readonly native: NativeTopics | undefined;
  readonly #adapter: ServerOptions;
  readonly #stopped: () => void;
  readonly #unobserve: (() => void) | undefined;
  #emptied: (() => void) | undefined;
  #end: Promise<void> | undefined;
  readonly #topics = new Map<string, Set<Connection>>();
  /** Topics that the pub/sub has not confirmed yet. */
  readonly #joining = new Map<string, Promise<unknown>>();

  /** `stopped` is called when the server accepts no more. */
  constructor(router: RouterParts, adapter: ServerOptions, stopped: () => void) {
    this.clock = adapter.clock ?? systemClock;
    this.timers = adapter.timers ?? new TimerWheel(this.clock);
    this.options = router.options;
    this.routes = router.routes;
    this.context = adapter.context ?? {};
    this.refresh = adapter.refresh;
    this.buffers = new Buffers(this, router.options.processBufferBudgetBytes, adapter.isolated ?? false);
    this.#router = router;
    this.#adapter = adapter;
    this.#stopped = stopped;
    this.native = adapter.nativePublish && new NativeTopics(this, adapter.nativePublish);
    this.metrics = router.options.metrics;
    // An isolated server ends without a word; observed, it would be counted and kept for ever.
    if (!adapter.isolated)
      this.#unobserve = this.metrics?.observe(
        figuresOf(this.connections, this.#topics, this.counters),
        this.options.pubsub,
      );
  }

  /** The state of the broker, where the router was given a pub/sub that has one. */
  get bus(): PubSubStatus | undefined {
    return this.options.pubsub?.status;
  }

  get pubsub(): PubSub {
    return this.#router.pubsub();
  }

  /** Takes over a connected socket. The data carries the id that the adapter chose. */
  accept(socket: Socket, data: AnyData, options: AcceptOptions = {}): Connection {
    const { greets = true } = options;
    const connection = new Connection(this, socket, data, greets);
    this.connections.add(connection);
    if (this.options.heartbeat !== undefined && this.#adapter.heartbeat !== false) {
      this.heartbeat ??= new Heartbeat(this, this.options.heartbeat);
      connection.lastSeenAt = this.clock.now();
    }
    connection.expireAt(data["expiresAt"]);
    if (options.resumedTopics !== undefined) return this.#resumed(connection, options.resumedTopics, options);
    if (greets) connection.send(CONTROL.hello, this.#hello(data));
    this.#opened(connection, options);
    return connection;
  }

  /** What it was allowed before, it is allowed still: neither `onAuth` nor the topics are asked for again. */
  #resumed(
    connection: Connection,
    topics: readonly string[],
    { admitted = true, closing }: AcceptOptions,
  ): Connection {
    connection.admitted = admitted;
    if (closing !== undefined) connection.awaitClose(closing.code, closing.reason);
    connection.topics = new Set(topics);
    for (const topic of topics) this.#guard(() => this.subscribe(connection, topic), undefined);
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
    /** Hooks may write to the data without telling, also late. */
    const run = (hook: () => unknown): void =>
      this.#guard(() => pendingOf(hook())?.finally(() => connection.socket.changed?.("data")), scope);
    run(() => options.upgraded?.(connection));
    run(() => this.#adapter.onOpen?.(connection));
    for (const hook of this.#router.hooks.open) run(() => hook(scope as never));
  }

  /** The connection is gone. */
  forget(connection: Connection, code: number, reason: string): void {
    this.connections.delete(connection);
    this.metrics?.closed(code);
    if (this.connections.size === 0) this.#emptied?.();
    this.native?.forget(connection);
    for (const topic of connection.topics ?? []) void this.#leave(connection, topic);
    const ctx = Object.assign(new ConnectionScope(connection), { code, reason });
    for (const hook of this.#router.hooks.close) this.#guard(() => hook(ctx as never), ctx);
    this.#guard(() => this.#adapter.onClose?.(connection, code, reason), ctx);
  }

  // --- admission ---

  /** Asks the `onAuth` hooks in order; a throw is a no. */
  authorize(message: InboundEvent): boolean | Promise<boolean> {
    const hooks = this.#router.hooks.auth;
    const ask = (at: number): boolean | Promise<boolean> => {
      const hook = hooks[at];
      if (hook === undefined) return true;
      const verdict: unknown = hook(message as never);
      const pending = pendingOf(verdict);
      if (pending === undefined) return verdict === true && ask(at + 1);
      return pending.then((admitted) => admitted === true && ask(at + 1));
    };
    const refuse = (error: unknown): false => {
      this.report(error, message);
      return false;
    };
    try {
      const verdict = ask(0);
      return typeof verdict === "boolean" ? verdict : verdict.catch(refuse);
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
    this.native?.join(connection, topic);
    this.#adapter.sharedWriter?.regroup(topic);
    const members = this.#topics.get(topic);
    if (members !== undefined) {
      members.add(connection);
      // A topic that is not heard at the moment may be joined once it is.
      if (this.bus?.connected === false && !this.#joining.has(topic)) this.#join(topic);
    } else {
      this.#topics.set(topic, new Set([connection]));
      this.#join(topic);
    }
    return this.confirmed(topic)?.catch((error: unknown) => {
      connection.topics?.delete(topic);
      connection.socket.changed?.("topics");
      void this.#leave(connection, topic);
      throw error;
    });
  }

  /** Resolves once the pub/sub has confirmed the topic; nothing when it has, or nobody asked. */
  confirmed(topic: string): Promise<void> | undefined {
    return this.#joining.get(topic)?.then(
      () => undefined,
      (error: unknown) => {
        throw WsError.wrap(error, "UNAVAILABLE", "The topic could not be subscribed to.");
      },
    );
  }

  /** Whoever subscribes before the pub/sub has confirmed waits for the same answer. */
  #join(topic: string): void {
    const joined = pendingOf(attempt(() => this.#router.pubsub().subscribe(topic, this)));
    if (joined === undefined) return;
    this.#joining.set(topic, joined);
    const answered = () => {
      if (this.#joining.get(topic) === joined) this.#joining.delete(topic);
    };
    joined.then(answered, answered);
  }

  unsubscribe(connection: Connection, topic: string): void | Promise<void> {
    return this.#leave(connection, topic);
  }

  #leave(connection: Connection, topic: string): void | Promise<void> {
    if (connection.isOpen) this.native?.leave(connection, topic);
    this.#adapter.sharedWriter?.regroup(topic);
    const members = this.#topics.get(topic);
    if (!members?.delete(connection) || members.size > 0) return;
    this.#topics.delete(topic);
    const left = pendingOf(attempt(() => this.#router.pubsub().unsubscribe(topic, this)));
    return left?.then(
      () => undefined,
      (error: unknown) => this.reportOutside(error),
    );
  }

  deliver(topic: string, frame: string, excludeClientId: string | undefined): number {
    const members = this.#topics.get(topic);
    const shared: SharedFrame = { topic, text: frame, encoded: undefined };
    const handed = members === undefined ? 0 : this.#handOver(members, shared, excludeClientId);
    const { onBroadcast } = this.#adapter;
    if (onBroadcast !== undefined) this.#guard(() => onBroadcast(JSON.parse(frame), topic), undefined);
    return handed;
  }

  #handOver(members: Set<Connection>, frame: SharedFrame, excludeClientId: string | undefined): number {
    if (this.native !== undefined) return this.native.publish(members, frame, excludeClientId);
    if (excludeClientId === undefined && this.#adapter.sharedWriter?.follow(frame, members.size)) {
      this.buffers.grew(frame.text.length * members.size);
      return members.size;
    }
    let handed = 0;
    for (const connection of members) {
      if (excludeClientId !== undefined && connection.clientId === excludeClientId) continue;
      if (!connection.deliver(frame)) continue;
      handed++;
      this.buffers.grew(frame.text.length);
    }
    return handed;
  }

  accepts(frame: string): boolean {
    return isApplicationFrame(frame);
  }

  /** Tells every peer concerned, before anything that follows the hole. */
  missed(topic: string | undefined): void {
    this.counters.busGaps++;
    const members = topic === undefined ? this.connections : (this.#topics.get(topic) ?? []);
    tellBusGap(members, topic, this.clock.wall());
  }

  publish(
    topic: string,
    schema: AnyMessageSchema,
    payload: unknown,
    options: PublishOptions,
    from?: Connection,
  ): Promise<PublishResult> {
    const publisher = {
      pubsub: this.#router.pubsub(),
      validator: this.options.validator,
      clock: this.clock,
      failed: (error: unknown) => this.reportOutside(error),
    };
    return publish(publisher, topic, schema, payload, options.meta, {
      excludeClientId: options.excludeSelf ? from?.clientId : undefined,
      partitionKey: options.partitionKey,
    });
  }

  // --- reports ---

  /** Shows a failure to the `onError` hooks; true when one of them suppresses the error frame. */
  report(thrown: unknown, ctx: ErrorContext): boolean {
    const error = WsError.wrap(thrown, "INTERNAL");
    // An exception of the application's must not vanish where nobody listens.
    if (this.#router.hooks.error.length === 0 && error.cause !== undefined) this.#last(error);
    let suppressed = false;
    for (const hook of this.#router.hooks.error) {
      try {
        const verdict: unknown = hook(error, ctx as never);
        if (verdict === false) suppressed = true;
        pendingOf(verdict)?.catch((failure: unknown) => this.#last(failure));
      } catch (failure) {
        this.#last(failure);
      }
    }
    return suppressed;
  }

  /** A failure that belongs to no message. */
  reportOutside(thrown: unknown): void {
    const error = WsError.wrap(thrown, "INTERNAL");
    if (this.#adapter.onError === undefined) return this.#last(error);
    try {
      pendingOf(this.#adapter.onError(error, {}))?.catch((failure: unknown) => this.#last(failure));
    } catch (failure) {
      this.#last(failure);
    }
  }

  limitExceeded(info: LimitExceededInfo<AnyData>): void {
    for (const hook of this.#router.hooks.limit) this.#guard(() => hook(info as never), undefined);
  }

  warnIncomplete(type: string): void {
    if (warnedTypes.has(type)) return;
    warnedTypes.add(type);
    console.warn(
      `[halyard] The handler of ${type} is done but gave no answer; its caller waits until the deadline. Call ctx.reply or ctx.error.`,
    );
  }

  /** A hook must never take the server down. */
  #guard(hook: () => unknown, ctx: ErrorContext | undefined): void {
    const report = (error: unknown) => {
      if (ctx === undefined) this.reportOutside(error);
      else this.report(error, ctx);
    };
    try {
      pendingOf(hook())?.catch(report);
    } catch (error) {
      report(error);
    }
  }

  /** Nobody is left to tell. */
  #last(thrown: unknown): void {
    console.error("[halyard]", WsError.wrap(thrown, "INTERNAL"));
  }

  // --- end ---

  /** Closes every connection with 1012; resolves when all are gone. */
  stop(reason = ""): Promise<void> {
    this.#end ??= this.#close(reason);
    return this.#end;
  }

  #close(reason: string): Promise<void> {
    this.heartbeat?.stop();
    this.heartbeat = undefined;
    this.#stopped();
    this.#unobserve?.();
    this.buffers.forget();
    for (const connection of [...this.connections]) connection.close(CLOSE.restarting, reason);
    if (this.connections.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#emptied = resolve;
    });
  }
}

/** What a call gives, or a rejection with what it throws. */
function attempt(call: () => unknown): unknown {
  try {
    return call();
  } catch (error) {
    return Promise.reject(error);
  }
}
