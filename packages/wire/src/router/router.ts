/** The router: registers handlers, middleware and hooks, and creates servers. It knows no platform; adapters provide the sockets. */
import { systemClock } from "@halyard/base";
import type { ChannelTarget } from "../channels/channel-target.ts";
import type { ChannelHandlers } from "../channels/handlers.ts";
import { createUnreachableTarget, MemberObserver, UNREACHABLE } from "../channels/observer.ts";
import { type AnyHandlers, ChannelRegistry, presenceOptionsOf } from "../channels/registry.ts";
import { createTarget } from "../channels/target.ts";
import { checkParams, topicOf } from "../channels/topic.ts";
import { CLOSE } from "../protocol/control.ts";
import type { WsError } from "../protocol/error.ts";
import { requireHistory } from "../pubsub/history-rules.ts";
import { MemoryPubSub } from "../pubsub/memory.ts";
import type { PublishResult, PubSub } from "../pubsub/pubsub.ts";
import type { AnyChannel, MemberPage, MemberPageOptions, ParamsInput } from "../schema/channel.ts";
import type { AnyMessageSchema, DurableSchema, RpcSchema } from "../schema/message.ts";
import { isMessageSchema } from "../schema/message-schema.ts";
import { type DurableRouteOptions, durableHandler } from "./calls/durable-route.ts";
import { requireMember } from "./channel-guard.ts";
import { checkCloseCode } from "./connections/close-code.ts";
import {
  createMatcher,
  type DisconnectMatch,
  type DisconnectOptions,
  isOlder,
} from "./connections/disconnect.ts";
import type { AnyData, ConnectionData, Peer, Socket, SocketEvents } from "./connections/peer.ts";
import { RemoteDisconnects, type RemoteOptions } from "./connections/remote-disconnects.ts";
import type { Middleware, Narrowed, PublishOptions, SendArguments } from "./context.ts";
import type { Server } from "./contracts.ts";
import type { EventHandler, MergeableInto, RouteBuilder, RpcHandler } from "./handlers.ts";
import {
  type AuthHook,
  type CloseHook,
  type ErrorHook,
  type Hooks,
  type LimitHook,
  type OpenHook,
  runErrorHooks,
} from "./hooks.ts";
import { checkObservable, type Declarations, type ServerObserver } from "./observer.ts";
import { hooksOf, type ResolvedOptions, type RouterOptions, resolveOptions } from "./options.ts";
import { checkRegistration } from "./registration.ts";
import { Routes } from "./routes.ts";
import { RouterServer } from "./server/server.ts";
import type { AcceptOptions, ServerOptions } from "./server/server-options.ts";
import { publish } from "./topics/publication.ts";
import type { Publisher } from "./topics/publisher.ts";
import { checkServed, noteConnection, noteServer, noteStop } from "./topics/served.ts";

/** A request that ends with its connection. */
type NotDurable = { readonly durable?: undefined };

/**
 * Registers handlers, middleware and hooks. Created by `createRouter()`. Hooks and joins see the data of every connection,
 * `Connection`. Handlers see `Handler`, which middleware narrows. `Needs` is what a router that merges this one guarantees.
 */
export class Router<
  Connection extends ConnectionData = ConnectionData,
  Handler extends ConnectionData = Connection,
  Needs extends ConnectionData = Handler,
> {
  /** For the compiler only: handlers that need more than every connection has can be merged, but not served. */
  declare readonly "~unmet"?: [Connection] extends [Needs]
    ? undefined
    : { readonly "middleware of a router that merges this one must guarantee this data": Needs };
  readonly #options: RouterOptions<Connection>;
  readonly #resolved: ResolvedOptions;
  readonly #routes = new Routes();
  readonly #hooks: Hooks;
  #pubsub: PubSub | undefined;
  #server: Server | undefined;
  readonly #servers = new Set<Server>();
  /** Whether Durable Objects use this router. Their connections belong to the objects. */
  #isIsolated = false;
  readonly #channels = new ChannelRegistry();
  readonly #observer = new MemberObserver();
  /** Set when other processes share the pub/sub. */
  readonly #remote: RemoteDisconnects | undefined;
  /** A tool that sees the servers of this router. */
  #tool: ServerObserver | undefined;

  constructor(options: RouterOptions<Connection> = {}) {
    this.#options = options;
    this.#resolved = resolveOptions(options as unknown as RouterOptions<AnyData>);
    this.#pubsub = this.#resolved.pubsub;
    this.#hooks = hooksOf(options);
    const closeMatching = (match: DisconnectMatch, how: RemoteOptions, ageMs: number): void => {
      const matches = createMatcher(match);
      if (how.leave !== undefined) return void this.#withdraw(matches, how.leave, ageMs);
      const openedBefore = systemClock.wall() - ageMs;
      this.disconnectLocal((ws) => matches(ws) && (ageMs === 0 || isOlder(ws.clientId, openedBefore)), how);
    };
    if (this.#pubsub?.spansProcesses) this.#remote = new RemoteDisconnects(this.#pubsub, closeMatching);
  }

  /** Registers the handler of a message without a response. Registering a type again replaces its handler. */
  on<S extends AnyMessageSchema>(schema: S, handler: EventHandler<S, Handler>): this {
    return this.#register(schema, "event", handler, []);
  }

  /**
   * Registers the handler of a request. It returns the payload of the response, or calls `ctx.reply` or `ctx.error`.
   * Throws when the schema has no response. A durable request needs `options` with the owner of its calls.
   */
  rpc<S extends DurableSchema>(
    schema: S,
    options: DurableRouteOptions<Handler>,
    handler: RpcHandler<S, Handler>,
  ): this;
  rpc<S extends RpcSchema & NotDurable>(schema: S, handler: RpcHandler<S, Handler>): this;
  rpc(schema: RpcSchema, second: unknown, third?: unknown): this {
    return this.#registerRpc(schema, [second, third], []);
  }

  /** Removes the handler of this message type. */
  off(schema: AnyMessageSchema): this {
    this.#routes.delete(schema.type);
    return this;
  }

  /**
   * Adds middleware around every handler, in order of registration, and returns this router. Handlers that are registered
   * on the result have the data that the middleware's type guarantees.
   */
  use<Out extends ConnectionData = Handler>(
    middleware: Middleware<Handler, Out>,
  ): Router<Connection, Narrowed<Handler, Out>, Needs>;
  use(middleware: Middleware): unknown {
    this.#routes.use(middleware);
    return this;
  }

  /** Registers one message with its own middleware, which runs inside the router's middleware. */
  route<S extends AnyMessageSchema>(schema: S): RouteBuilder<S, Handler, this>;
  route(schema: AnyMessageSchema): object {
    const middleware: Middleware[] = [];
    const add = (added: Middleware): object => {
      middleware.push(added);
      return builder;
    };
    const builder = {
      use: add,
      in: (...args: [AnyChannel, (payload: never) => unknown]) => add(requireMember(schema, ...args)),
      on: (handler: unknown) => this.#register(schema, "event", handler, middleware),
      rpc: (...args: readonly unknown[]) => this.#registerRpc(schema, args, middleware),
    };
    return builder;
  }

  /** Adds a hook that runs when a connection opens. */
  onOpen(hook: OpenHook<Connection>): this {
    this.#hooks.open.push(hook as OpenHook);
    return this;
  }

  /** Adds a hook that runs when a connection has closed. */
  onClose(hook: CloseHook<Connection>): this {
    this.#hooks.close.push(hook as CloseHook);
    return this;
  }

  /** Adds a hook that runs once per connection, with its first message. Any result but true closes the connection with 4401. */
  onAuth(hook: AuthHook<Connection>): this {
    this.#hooks.auth.push(hook as AuthHook);
    return this;
  }

  /** Adds a hook that receives every failure. Returning false suppresses the error frame. */
  onError(hook: ErrorHook<Connection>): this {
    this.#hooks.error.push(hook as ErrorHook);
    return this;
  }

  /** Adds a hook that runs when a peer exceeds the frame size limit or a rate limit. */
  onLimitExceeded(hook: LimitHook<Connection>): this {
    this.#hooks.limit.push(hook as LimitHook);
    return this;
  }

  /**
   * Adds the current routes and hooks of another router. Its middleware wraps only its own routes. For a type that both
   * routers have, the merged route wins. The other router may use another validation library, and may expect less
   * connection data than this one. Its handlers may rely on the middleware that was added before.
   */
  merge<Other extends ConnectionData, Seen extends ConnectionData, OtherNeeds extends ConnectionData>(
    router: Router<Other, Seen, OtherNeeds> & MergeableInto<Connection, Handler, Other, OtherNeeds>,
  ): this {
    this.#routes.append(router.#routes);
    this.#hooks.append(router.#hooks);
    this.#channels.append(router.#channels);
    this.#requireHistory();
    return this;
  }

  /**
   * Publishes to every subscriber of the topic, on every server of this router. It cannot reach Durable Objects: use
   * `this.publish` of the object.
   */
  publish<S extends AnyMessageSchema>(
    topic: string,
    schema: S,
    ...[payload, options]: SendArguments<S, PublishOptions<S>>
  ): Promise<PublishResult> {
    if (this.#isUnreachable) return Promise.resolve(UNREACHABLE);
    const { meta, partitionKey } = options ?? {};
    return publish(this.#publisher(), topic, schema, payload, meta, { partitionKey });
  }

  get #isUnreachable(): boolean {
    return this.#isIsolated && this.#servers.size === 0 && this.#resolved.pubsub === undefined;
  }

  #publisher(): Publisher {
    const { validator, maxOutboundFrameBytes } = this.#resolved;
    return {
      pubsub: this.#getPubSub(),
      validator,
      clock: systemClock,
      maxFrameBytes: maxOutboundFrameBytes,
      sent: (result) => checkServed(result, this.#key, this),
      failed: (error: unknown) => console.error("[halyard] The pub/sub failed to publish a message:", error),
      invalid: (error: WsError, type: string | undefined) =>
        void runErrorHooks(this.#hooks, error, { clientId: "", type }),
    };
  }

  /**
   * Registers a channel: who may join it, and what happens then. Registering a channel again replaces its handlers. Throws
   * without `authorize`.
   */
  channel<C extends AnyChannel>(channel: C, handlers: ChannelHandlers<C, Connection>): this {
    this.#channels.set(channel, handlers as unknown as AnyHandlers);
    this.#requireHistory();
    return this;
  }

  /**
   * The channel with these parameters, to publish on it, on every server of this router. Throws `INVALID_ARGUMENT` for
   * invalid parameters. It cannot reach Durable Objects: use `this.to` of the object.
   */
  to<C extends AnyChannel>(channel: C, params: ParamsInput<C>): ChannelTarget<C> {
    const topic = topicOf(channel, checkParams(channel, params, this.#resolved.validator));
    const target = this.#isUnreachable
      ? createUnreachableTarget()
      : createTarget(this.#publisher(), channel, topic, undefined, (page) =>
          this.#readMembers(channel, topic, page),
        );
    return target as unknown as ChannelTarget<C>;
  }

  /** Any server of this router knows the members of all. A process without one is an observer of the others. */
  #readMembers(channel: AnyChannel, topic: string, page: MemberPageOptions): Promise<MemberPage> {
    for (const server of this.#servers) return server.channels.readMembers(channel, topic, page);
    const options = presenceOptionsOf(this.#channels.get(channel.pattern)?.handlers);
    return this.#observer.read(this.#getPubSub(), topic, options, page);
  }

  /**
   * Ends the memberships of matching connections in the channel, and joins whose `authorize` has begun, in every process
   * that shares the pub/sub. They do not join again by themselves. Resolves to the number of memberships ended in this
   * process; rejects with `UNAVAILABLE` when the other processes could not be reached for 5 s.
   */
  async leave<C extends AnyChannel>(
    match: DisconnectMatch<Connection>,
    channel: C,
    params: ParamsInput<C>,
  ): Promise<number> {
    const topic = topicOf(channel, checkParams(channel, params, this.#resolved.validator));
    const ended = this.#withdraw(createMatcher(match as DisconnectMatch), topic, 0);
    await this.#remote?.publish(match as DisconnectMatch, CLOSE.forbidden, "", topic);
    return ended;
  }

  /** Throws when a channel declares history, and the pub/sub keeps none. The default one keeps it. */
  #requireHistory(): void {
    const { pubsub } = this.#resolved;
    for (const { channel } of this.#channels.values())
      if (channel.history !== undefined && pubsub !== undefined)
        requireHistory(pubsub, `The channel "${channel.pattern}"`);
  }

  #withdraw(matches: (ws: Peer<AnyData>) => boolean, topic: string, ageMs: number): number {
    let ended = 0;
    for (const server of this.#servers) ended += server.channels.withdraw(matches, topic, ageMs);
    return ended;
  }

  /**
   * Removes handlers, middleware and hooks that were added by method. The options and their hooks stay. Connections,
   * topics, heartbeats and calls in flight stay too, because they belong to the running servers.
   */
  reset(): this {
    this.#routes.clear();
    this.#channels.clear();
    this.#hooks.replace(hooksOf(this.#options));
    return this;
  }

  /** For tools: the messages and channels that are registered now. */
  declarations(): Declarations {
    return {
      messages: Array.from(this.#routes.values(), ({ schema }) => schema),
      channels: Array.from(this.#channels.values(), ({ channel }) => channel),
    };
  }

  /** For tools: passes every server to the observer. Throws when a server runs, or another tool observes the router. */
  observe(observer: ServerObserver): this {
    checkObservable(this.#tool, this.#servers);
    this.#tool = observer;
    return this;
  }

  /** For adapters: creates a server of this router, with its own connections and topics. */
  attach(given: ServerOptions = {}): Server {
    // An isolated server is never stopped explicitly, so a tool would keep it forever.
    const tool = given.isolated ? undefined : this.#tool;
    const options = tool?.attaching(given) ?? given;
    const isolatedPubSub =
      options.isolated && this.#resolved.pubsub === undefined
        ? (options.isolatedPubSub?.() ?? new MemoryPubSub())
        : undefined;
    if (options.isolated) this.#isIsolated = true;
    const parts = {
      routes: this.#routes,
      hooks: this.#hooks,
      options: this.#resolved,
      channels: this.#channels,
      pubsub: () => isolatedPubSub ?? this.#getPubSub(),
      connected: () => options.isolated || noteConnection(this.#key, this),
    };
    const server = new RouterServer(parts, options, () => {
      detached?.();
      if (!this.#servers.delete(server) || this.#servers.size > 0) return;
      this.#remote?.stop();
      noteStop(this.#key);
    });
    const detached = tool?.attached(server);
    if (!options.isolated) {
      this.#servers.add(server);
      noteServer(this.#key);
      this.#remote?.start();
    }
    return server;
  }

  /**
   * Closes the connections that match, on every server of this router and in every process that shares its pub/sub. All
   * given fields must be equal. Resolves to the number of connections closed in this process, once the disconnect is
   * published to the other processes; rejects with `UNAVAILABLE` when that fails for 5 s. The default code is 4403.
   */
  async disconnect(match: DisconnectMatch<Connection>, options: DisconnectOptions = {}): Promise<number> {
    const { code = CLOSE.forbidden, reason = "" } = options;
    checkCloseCode(code);
    const closed = this.disconnectLocal(createMatcher(match as DisconnectMatch), options);
    await this.#remote?.publish(match as DisconnectMatch, code, reason);
    return closed;
  }

  /** Closes the connections of this process for which the function returns true; returns their number. The default code is 4403. */
  disconnectLocal(matches: (ws: Peer<Connection>) => boolean, options: DisconnectOptions = {}): number {
    const { code = CLOSE.forbidden, reason = "" } = options;
    let closed = 0;
    for (const server of this.#servers) {
      for (const connection of [...server.connections]) {
        if (!connection.isOpen || !matches(connection as unknown as Peer<Connection>)) continue;
        connection.close(code, reason);
        closed++;
      }
    }
    return closed;
  }

  /** For adapters without options: takes over a connected socket. `data` includes the connection's id. */
  accept(
    this: this & { readonly "~unmet"?: undefined },
    socket: Socket,
    data: Connection,
    options?: AcceptOptions,
  ): SocketEvents {
    this.#server ??= this.attach();
    return this.#server.accept(socket, data as unknown as AnyData, options);
  }

  /** What servers that reach the same connections have in common. */
  get #key(): object {
    return this.#resolved.pubsub ?? this;
  }

  #getPubSub(): PubSub {
    this.#pubsub ??= new MemoryPubSub();
    return this.#pubsub;
  }

  /** `args`: the handler, or the options of a durable request and the handler. */
  #registerRpc(schema: AnyMessageSchema, args: readonly unknown[], middleware: readonly Middleware[]): this {
    const durable = isMessageSchema(schema) ? schema.durable : undefined;
    const handler =
      durable === undefined
        ? args[0]
        : durableHandler(schema as RpcSchema, durable, args, this.#resolved.pubsub);
    return this.#register(schema, "rpc", handler, middleware);
  }

  #register(
    schema: AnyMessageSchema,
    kind: "event" | "rpc",
    handler: unknown,
    middleware: readonly Middleware[],
  ): this {
    checkRegistration(schema, kind, this.#routes);
    this.#routes.set({ kind, schema, handler, middleware, chain: undefined } as never);
    return this;
  }
}

/**
 * Creates a router. `Connection` is the type of each connection's data. `Handler` is for a router that another one merges
 * behind middleware: the data that its handlers see.
 *
 * @example
 * ```ts
 * import { createRouter, message, z } from "@halyard/wire/zod";
 *
 * const Said = message("SAID", { text: z.string() });
 * const router = createRouter<{ clientId: string; name?: string }>().on(Said, (ctx) => {
 *   console.log(ctx.data.name ?? "someone", "said", ctx.payload.text);
 * });
 * ```
 */
export function createRouter<
  Connection extends { readonly clientId: string } = ConnectionData,
  Handler extends Connection = Connection,
>(options?: RouterOptions<Connection>): Router<Connection, Handler> {
  return new Router<Connection, Handler>(options);
}
