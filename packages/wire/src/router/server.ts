/** A running server of a router: its connections and topics belong here, so that one router may serve several. */
import { CLOSE, CONTROL, type Hello } from "../protocol/control.ts";
import { WsError } from "../protocol/error.ts";
import type { PublishResult, PubSub, Subscriber } from "../pubsub/pubsub.ts";
import type { AnyMessageSchema } from "../schema/message.ts";
import { Buffers } from "./buffers.ts";
import { type Clock, systemClock } from "./clock.ts";
import { type AnyData, Connection } from "./connection.ts";
import type { ErrorContext, PublishOptions } from "./context.ts";
import { Heartbeat } from "./heartbeat.ts";
import type { Hooks, LimitExceededInfo } from "./hooks.ts";
import { ConnectionScope, type InboundEvent } from "./inbound-event.ts";
import { type NativePublish, NativeTopics } from "./native-topics.ts";
import { DEFAULT_HEARTBEAT_TIMEOUT_MS, type ResolvedOptions } from "./options.ts";
import type { Peer, ServerContext, SharedFrame, Socket } from "./peer.ts";
import { pendingOf } from "./pending.ts";
import { publish } from "./publish.ts";
import type { Routes } from "./routes.ts";
import { TimerWheel } from "./timers.ts";

/** What a server needs of its router. */
export interface RouterParts {
  readonly routes: Routes;
  readonly hooks: Hooks;
  readonly options: ResolvedOptions;
  pubsub(): PubSub;
}

/** What an adapter brings besides sockets. */
export interface ServerOptions {
  readonly clock?: Clock;
  /** Topics are this server's own, unless the router was given a pub/sub. */
  readonly isolated?: boolean;
  readonly context?: ServerContext;
  /** Publishes to every socket subscribed to the topic in the platform's engine. */
  readonly nativePublish?: NativePublish;
  readonly onOpen?: (ws: Peer) => unknown;
  readonly onClose?: (ws: Peer, code: number, reason: string) => unknown;
  readonly onBroadcast?: (message: BroadcastMessage, topic: string) => unknown;
  /** Gets errors outside any message; the router's `onError` gets all others. */
  readonly onError?: (error: WsError, ctx: { readonly clientId?: string }) => unknown;
  /** Checks a new token of an open connection; gives new data, or undefined to refuse. */
  readonly refresh?: (token: string, data: AnyData) => unknown;
}

export interface BroadcastMessage {
  readonly type: string;
  readonly meta: Readonly<Record<string, unknown>>;
  readonly payload?: unknown;
}

export interface AcceptOptions {
  /** Whether the peer offered this protocol, and so is greeted. Default true. */
  readonly greets?: boolean;
  /** The connection is taken up again with these topics: it is not greeted, and `onOpen` does not run. */
  readonly resumedTopics?: readonly string[];
  /** Called with the new connection before any hook. */
  readonly upgraded?: (ws: Peer) => unknown;
}

export interface ServerCounters {
  /** Published frames a slow peer did not get; it was told by `$ws:gap`. */
  shed: number;
  /** Connections closed because the process ran out of its buffer budget. */
  overBudget: number;
  /** Progress frames a slow peer did not get. */
  droppedProgress: number;
}

const warnedTypes = new Set<string>();

export class Server implements Subscriber {
  readonly clock: Clock;
  readonly timers: TimerWheel;
  readonly options: ResolvedOptions;
  readonly routes: Routes;
  readonly context: ServerContext;
  readonly connections: Set<Connection> = new Set();
  readonly buffers: Buffers;
  /** What was not delivered, since the start. */
  readonly counters: ServerCounters = { shed: 0, overBudget: 0, droppedProgress: 0 };
  readonly refresh: ServerOptions["refresh"];
  /** There from the first connection on, if the router has one. */
  heartbeat: Heartbeat | undefined;
  readonly #router: RouterParts;
  /** Where the platform's engine has topics of its own. */
  readonly native: NativeTopics | undefined;
  readonly #adapter: ServerOptions;
  readonly #stopped: () => void;
  #emptied: (() => void) | undefined;
  #end: Promise<void> | undefined;
  readonly #topics = new Map<string, Set<Connection>>();
  /** Topics that the pub/sub has not confirmed yet. */
  readonly #joining = new Map<string, Promise<unknown>>();

  /** `stopped` is called when the server accepts no more. */
  constructor(router: RouterParts, adapter: ServerOptions, stopped: () => void) {
    this.clock = adapter.clock ?? systemClock;
    this.timers = new TimerWheel(this.clock);
    this.options = router.options;
    this.routes = router.routes;
    this.context = adapter.context ?? {};
    this.refresh = adapter.refresh;
    this.buffers = new Buffers(this, router.options.processBufferBudgetBytes, adapter.isolated ?? false);
    this.#router = router;
    this.#adapter = adapter;
    this.#stopped = stopped;
    this.native = adapter.nativePublish && new NativeTopics(this, adapter.nativePublish);
  }

  get pubsub(): PubSub {
    return this.#router.pubsub();
  }

  /** Takes over a connected socket. The data carries the id that the adapter chose. */
  accept(socket: Socket, data: AnyData, options: AcceptOptions = {}): Connection {
    const { greets = true } = options;
    const connection = new Connection(this, socket, data, greets);
    this.connections.add(connection);
    if (this.options.heartbeat !== undefined) {
      this.heartbeat ??= new Heartbeat(this, this.options.heartbeat);
      connection.lastSeenAt = this.clock.now();
    }
    connection.expireAt(data["expiresAt"]);
    if (options.resumedTopics !== undefined) return this.#resumed(connection, options.resumedTopics);
    if (greets) connection.send(CONTROL.hello, this.#hello(data));
    this.#opened(connection, options);
    return connection;
  }

  /** What it was allowed before, it is allowed still: neither `onAuth` nor the topics are asked for again. */
  #resumed(connection: Connection, topics: readonly string[]): Connection {
    connection.admitted = true;
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
    this.#guard(() => options.upgraded?.(connection), scope);
    this.#guard(() => this.#adapter.onOpen?.(connection), scope);
    for (const hook of this.#router.hooks.open) this.#guard(() => hook(scope as never), scope);
  }

  /** The connection is gone. */
  forget(connection: Connection, code: number, reason: string): void {
    this.connections.delete(connection);
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
    if (admitted) connection.admitted = true;
    else connection.close(CLOSE.unauthenticated, "not authenticated");
  }

  // --- topics ---

  subscribe(connection: Connection, topic: string): void | Promise<void> {
    this.native?.join(connection, topic);
    const members = this.#topics.get(topic);
    if (members !== undefined) {
      members.add(connection);
    } else {
      this.#topics.set(topic, new Set([connection]));
      this.#join(topic);
    }
    return this.#joining.get(topic)?.then(
      () => undefined,
      (error: unknown) => {
        connection.topics?.delete(topic);
        void this.#leave(connection, topic);
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
    let handed = 0;
    const shared: SharedFrame = { topic, text: frame, encoded: undefined };
    const members = this.#topics.get(topic);
    if (members !== undefined && this.native !== undefined) {
      handed = this.native.publish(members, shared, excludeClientId);
    } else {
      for (const connection of members ?? []) {
        if (connection.clientId !== excludeClientId && connection.deliver(shared)) handed++;
      }
    }
    const { onBroadcast } = this.#adapter;
    if (onBroadcast !== undefined) this.#guard(() => onBroadcast(JSON.parse(frame), topic), undefined);
    return handed;
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
