/** Registration: which handler answers which message, behind which middleware and hooks. Knows no platform; adapters bring the sockets. */
import { CLOSE, isReservedType } from "../protocol/control.ts";
import { MemoryPubSub } from "../pubsub/memory.ts";
import type { PublishResult, PubSub } from "../pubsub/pubsub.ts";
import type { AnyMessageSchema, RpcSchema } from "../schema/message.ts";
import { systemClock } from "./clock.ts";
import { type AnyData, checkCloseCode } from "./connection.ts";
import type { EventContext, Middleware, PublishOptions, RpcContext, SendArguments } from "./context.ts";
import { type DisconnectMatch, type DisconnectOptions, isOlder, matcher } from "./disconnect.ts";
import {
  type AuthHook,
  type CloseHook,
  type ErrorHook,
  Hooks,
  type LimitHook,
  type OpenHook,
} from "./hooks.ts";
import type { AnyMiddleware } from "./middleware.ts";
import { isDevelopment, type ResolvedOptions, type RouterOptions, resolveOptions } from "./options.ts";
import type { ConnectionData, Peer, Socket, SocketEvents } from "./peer.ts";
import { publish } from "./publish.ts";
import { RemoteDisconnects } from "./remote-disconnects.ts";
import { Routes } from "./routes.ts";
import { Server } from "./server.ts";
import type { AcceptOptions, ServerOptions } from "./server-options.ts";

export type EventHandler<S extends AnyMessageSchema, Data extends ConnectionData> = (
  ctx: EventContext<S, Data>,
) => unknown;
export type RpcHandler<S extends RpcSchema, Data extends ConnectionData> = (
  ctx: RpcContext<S, Data>,
) => unknown;

export class Router<Data extends ConnectionData = ConnectionData> {
  readonly #options: RouterOptions<Data>;
  readonly #resolved: ResolvedOptions;
  readonly #routes = new Routes();
  readonly #hooks: Hooks;
  #pubsub: PubSub | undefined;
  #server: Server | undefined;
  readonly #servers = new Set<Server>();
  /** Where other processes are behind the pub/sub. */
  readonly #remote: RemoteDisconnects | undefined;

  constructor(options: RouterOptions<Data> = {}) {
    this.#options = options;
    this.#resolved = resolveOptions(options as unknown as RouterOptions<AnyData>);
    this.#pubsub = this.#resolved.pubsub;
    this.#hooks = hooksOf(options);
    const closeMatching = (match: DisconnectMatch, how: DisconnectOptions, ageMs: number): void => {
      const matches = matcher(match);
      const openedBefore = systemClock.wall() - ageMs;
      this.disconnectLocal((ws) => matches(ws) && (ageMs === 0 || isOlder(ws.clientId, openedBefore)), how);
    };
    if (this.#pubsub?.spansProcesses)
      this.#remote = new RemoteDisconnects(this.#pubsub, closeMatching, systemClock);
  }

  /** Handles a message that expects no answer. Registering a type again replaces its handler. */
  on<S extends AnyMessageSchema>(schema: S, handler: EventHandler<S, Data>): this {
    return this.#register(schema, "event", handler, []);
  }

  /** Handles a request; the handler answers with `ctx.reply` or `ctx.error`. The schema must have a response. */
  rpc<S extends RpcSchema>(schema: S, handler: RpcHandler<S, Data>): this {
    return this.#register(schema, "rpc", handler, []);
  }

  /** Unregisters the handler of this message type. */
  off(schema: AnyMessageSchema): this {
    this.#routes.delete(schema.type);
    return this;
  }

  /** Adds middleware around every handler, in order of registration. */
  use(middleware: Middleware<Data>): this {
    this.#routes.use(middleware as AnyMiddleware);
    return this;
  }

  /** Registers one message with middleware of its own, inside the router's. */
  route<S extends AnyMessageSchema>(schema: S): RouteBuilder<S, Data, this> {
    const middleware: AnyMiddleware[] = [];
    const builder: RouteBuilder<S, Data, this> = {
      use: (added) => {
        middleware.push(added as AnyMiddleware);
        return builder;
      },
      on: (handler) => this.#register(schema, "event", handler, middleware),
      rpc: (handler) => this.#register(schema, "rpc", handler, middleware),
    };
    return builder;
  }

  onOpen(hook: OpenHook<Data>): this {
    this.#hooks.open.push(hook as OpenHook);
    return this;
  }

  onClose(hook: CloseHook<Data>): this {
    this.#hooks.close.push(hook as CloseHook);
    return this;
  }

  /** Asked once per connection, with its first message. Anything but true closes the connection with 4401. */
  onAuth(hook: AuthHook<Data>): this {
    this.#hooks.auth.push(hook as AuthHook);
    return this;
  }

  /** Sees every failure. Returning false suppresses the error frame. */
  onError(hook: ErrorHook<Data>): this {
    this.#hooks.error.push(hook as ErrorHook);
    return this;
  }

  /** Told when a peer sends too much at once or too often. */
  onLimitExceeded(hook: LimitHook<Data>): this {
    this.#hooks.limit.push(hook as LimitHook);
    return this;
  }

  /**
   * Takes over the routes and hooks of another router as they are now. Its middleware goes on wrapping its own
   * routes only; on the same type, the merged route wins. The other router may use another validation library.
   */
  merge<Other extends ConnectionData>(router: Router<Other>): this {
    this.#routes.append(router.#routes);
    this.#hooks.append(router.#hooks);
    return this;
  }

  /** Publishes to every subscriber of the topic, on every server of this router. */
  publish<S extends AnyMessageSchema>(
    topic: string,
    schema: S,
    ...[payload, options]: SendArguments<S, PublishOptions<S>>
  ): Promise<PublishResult> {
    const { validator } = this.#resolved;
    const { meta, partitionKey } = options ?? {};
    const publisher = {
      pubsub: this.#bus(),
      validator,
      clock: systemClock,
      failed: (error: unknown) => console.error("[halyard] A publish failed:", error),
    };
    return publish(publisher, topic, schema, payload, meta, { partitionKey });
  }

  /**
   * Clears handlers, middleware and hooks added by method. Options and their hooks stay, and so do connections,
   * their topics, heartbeats and calls in flight: those belong to the running servers.
   */
  reset(): this {
    this.#routes.clear();
    this.#hooks.replace(hooksOf(this.#options));
    return this;
  }

  /** For adapters: a running server of this router, with connections and topics of its own. */
  attach(options: ServerOptions = {}): Server {
    const own = options.isolated && this.#resolved.pubsub === undefined ? new MemoryPubSub() : undefined;
    const parts = {
      routes: this.#routes,
      hooks: this.#hooks,
      options: this.#resolved,
      pubsub: () => own ?? this.#bus(),
    };
    const server = new Server(parts, options, () => {
      if (this.#servers.delete(server) && this.#servers.size === 0) this.#remote?.stop();
    });
    if (!options.isolated) {
      this.#servers.add(server);
      this.#remote?.start();
    }
    return server;
  }

  /**
   * Closes the connections that match, on every server of this router and of the processes that share its pub/sub: all
   * given fields must be equal. Resolves to how many were closed in this process, once the others are told; rejects
   * with `UNAVAILABLE` when they cannot be told within 5 seconds. The default code is 4403.
   */
  async disconnect(match: DisconnectMatch, options: DisconnectOptions = {}): Promise<number> {
    const { code = CLOSE.forbidden, reason = "" } = options;
    checkCloseCode(code);
    const closed = this.disconnectLocal(matcher(match), options);
    await this.#remote?.tell(match, code, reason);
    return closed;
  }

  /** Like `disconnect`, by a function, which never leaves this process. */
  disconnectLocal(matches: (ws: Peer<Data>) => boolean, options: DisconnectOptions = {}): number {
    const { code = CLOSE.forbidden, reason = "" } = options;
    let closed = 0;
    for (const server of this.#servers) {
      for (const connection of [...server.connections]) {
        if (!connection.isOpen || !matches(connection as unknown as Peer<Data>)) continue;
        connection.close(code, reason);
        closed++;
      }
    }
    return closed;
  }

  /** For adapters without options of their own: takes over a connected socket. The data carries the connection's id. */
  accept(socket: Socket, data: Data, options?: AcceptOptions): SocketEvents {
    this.#server ??= this.attach();
    return this.#server.accept(socket, data as unknown as AnyData, options);
  }

  #bus(): PubSub {
    this.#pubsub ??= new MemoryPubSub();
    return this.#pubsub;
  }

  #register(
    schema: AnyMessageSchema,
    kind: "event" | "rpc",
    handler: unknown,
    middleware: readonly AnyMiddleware[],
  ): this {
    if (isReservedType(schema.type)) {
      throw new TypeError(
        `${schema.type} is reserved: types beginning with "$ws:" belong to the protocol and reach no handler.`,
      );
    }
    if (kind === "rpc" && schema.response === undefined) {
      throw new TypeError(
        `${schema.type} has no response, so it cannot be a request. Declare one, as in message("${schema.type}", { response: { … } }), or register it with on().`,
      );
    }
    if (this.#routes.has(schema.type) && isDevelopment()) {
      console.warn(
        `[halyard] ${schema.type} is registered twice on one router; the later handler replaces the earlier one.`,
      );
    }
    this.#routes.set({ kind, schema, handler, middleware, chain: undefined } as never);
    return this;
  }
}

/** Made by `router.route(schema)`. */
export interface RouteBuilder<S extends AnyMessageSchema, Data extends ConnectionData, R> {
  /** Adds middleware for this message only. */
  use(middleware: Middleware<Data>): RouteBuilder<S, Data, R>;
  /** Registers the handler and gives the router back. */
  on(handler: EventHandler<S, Data>): R;
  /** Registers the request handler and gives the router back. */
  rpc(handler: S extends RpcSchema ? RpcHandler<S, Data> : never): R;
}

function hooksOf<Data extends ConnectionData>({ hooks }: RouterOptions<Data>): Hooks {
  const own = new Hooks();
  if (hooks?.onOpen) own.open.push(hooks.onOpen as OpenHook);
  if (hooks?.onClose) own.close.push(hooks.onClose as CloseHook);
  if (hooks?.onAuth) own.auth.push(hooks.onAuth as AuthHook);
  if (hooks?.onError) own.error.push(hooks.onError as ErrorHook);
  return own;
}

/**
 * Makes a router. `Data` is the type of each connection's data.
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
export function createRouter<Data extends { readonly clientId: string } = ConnectionData>(
  options?: RouterOptions<Data>,
): Router<Data> {
  return new Router<Data>(options);
}
