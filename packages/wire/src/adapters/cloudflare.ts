/** The Cloudflare adapter: a Durable Object class that serves a router with the Hibernation API. */
import type { ChannelPublishOptions, ChannelTarget } from "../channels/channel-target.ts";
import { checkOptionNames } from "../protocol/option-names.ts";
import type { PublishResult } from "../pubsub/pubsub.ts";
import type { DisconnectMatch, DisconnectOptions } from "../router/connections/disconnect.ts";
import type { ConnectionData, ServerContext } from "../router/connections/peer.ts";
import type { PublishOptions, SendArguments } from "../router/context.ts";
import type { Router } from "../router/router.ts";
import type { AnyChannel, Member, MemberPage, MemberPageOptions, ParamsInput } from "../schema/channel.ts";
import type { AnyMessageSchema } from "../schema/message.ts";
import type { AllowedOrigins, AuthenticatedData, Authentication } from "./admission.ts";
import type { DurableSocket, DurableState, DurableStorage } from "./durable/platform.ts";
import { DurableServer, type DurableServerOptions } from "./durable/server.ts";
import { COMMON_OPTIONS, type DataSource, type OptionsFor } from "./serve-options.ts";

export {
  createRoomRoutes,
  type RoomNamespace,
  type RoomRoutes,
  type RoomRoutesOptions,
} from "./cloudflare-rooms.ts";

// --- types ---

export type { WsError } from "../protocol/error.ts";
export type { Peer } from "../router/connections/peer.ts";
export type {
  AllowedOrigins,
  AnyChannel,
  AuthenticatedData,
  Authentication,
  ChannelPublishOptions,
  ChannelTarget,
  ConnectionData,
  DataSource,
  DisconnectMatch,
  DisconnectOptions,
  DurableSocket,
  DurableState,
  DurableStorage,
  Member,
  MemberPage,
  MemberPageOptions,
  OptionsFor,
  ParamsInput,
  PublishOptions,
  PublishResult,
  Router,
  ServerContext,
};

/** A class such as the platform's `DurableObject`. */
export type DurableObjectBase = abstract new (state: never, env: never) => object;

/** The options of `createDurableObjectHandler`. */
export interface DurableObjectOptions<
  Data extends ConnectionData = ConnectionData,
  Base extends DurableObjectBase = typeof PlainObject,
> extends Omit<DurableServerOptions<Data>, "context"> {
  /** The value of `ctx.context`, or a function that creates it for each object from the constructor's arguments. */
  readonly context?:
    | ServerContext
    | ((state: ConstructorParameters<Base>[0], env: ConstructorParameters<Base>[1]) => ServerContext);
  /**
   * The class to extend. Pass `DurableObject` of `cloudflare:workers` to call the object's methods over RPC. Default: a
   * class with `ctx` and `env`.
   */
  readonly base?: Base;
}

/** The methods that the created class adds to its base. */
export interface DurableObjectHandler {
  /** Handles an upgrade; other requests get status 426. */
  fetch(request: Request): Promise<Response>;
  /** Called by the platform for each frame. */
  webSocketMessage(socket: DurableSocket, data: string | ArrayBuffer): Promise<void>;
  /** Called by the platform when a peer closes its socket. */
  webSocketClose(socket: DurableSocket, code: number, reason: string): Promise<void>;
  /** Called by the platform when a socket fails. */
  webSocketError(socket: DurableSocket): Promise<void>;
  /** Runs due deadlines. A class with its own `alarm` must call this one first. */
  alarm(): Promise<void>;
  /**
   * Schedules a call of `alarm` at this time, in ms since epoch; `null` cancels it. Use this instead of
   * `storage.setAlarm`, because deadlines share the one alarm of an object. `alarm` is also called for deadlines and for
   * times that were changed, so check the time in it.
   */
  setAlarm(at: number | null): Promise<void>;
  /** Publishes to every subscriber of the topic in this object. */
  publish<S extends AnyMessageSchema>(
    topic: string,
    schema: S,
    ...rest: SendArguments<S, PublishOptions<S>>
  ): Promise<PublishResult>;
  /** The channel with these parameters in this object, to publish on it. Throws `INVALID_ARGUMENT` for invalid parameters. */
  to<C extends AnyChannel>(channel: C, params: ParamsInput<C>): ChannelTarget<C>;
  /** Ends the memberships of matching connections of this object in the channel; resolves to their number. */
  leave<C extends AnyChannel>(match: DisconnectMatch, channel: C, params: ParamsInput<C>): Promise<number>;
  /** Closes the matching connections of this object; resolves to their number. The default code is 4403. */
  disconnect(match: DisconnectMatch, options?: DisconnectOptions): Promise<number>;
}

/** The class that `createDurableObjectHandler` creates: its base with the methods of a handler. */
export type DurableObjectClass<Base extends DurableObjectBase> = new (
  ...args: ConstructorParameters<Base>
) => InstanceType<Base> & DurableObjectHandler;

// --- adapter ---

/** The default for the option `base`. */
class PlainObject {
  readonly ctx: DurableState;
  readonly env: unknown;

  constructor(state: DurableState, env: unknown) {
    this.ctx = state;
    this.env = env;
  }
}

/**
 * Creates a class to extend and export as a Durable Object. It needs SQLite storage (`new_sqlite_classes`).
 *
 * @example
 * ```ts
 * import { createDurableObjectHandler } from "@halyard/wire/cloudflare";
 * import { createRouter, message, z } from "@halyard/wire/zod";
 *
 * const News = message("NEWS", { text: z.string() });
 *
 * export class Room extends createDurableObjectHandler(createRouter(), { allowedOrigins: ["https://app.example"] }) {
 *   announce(text: string) {
 *     return this.publish("news", News, { text });
 *   }
 * }
 * ```
 */
export function createDurableObjectHandler<
  Data extends ConnectionData,
  Base extends DurableObjectBase = typeof PlainObject,
>(
  router: Router<Data>,
  ...[given]: OptionsFor<Data, DurableObjectOptions<Data, Base>>
): DurableObjectClass<Base> {
  const options: DurableObjectOptions<Data, Base> = given ?? {};
  checkOptionNames<DurableObjectOptions>("createDurableObjectHandler()", options, {
    ...COMMON_OPTIONS,
    base: true,
  });
  const base = (options.base ?? PlainObject) as unknown as new (state: DurableState, env: unknown) => object;

  const created = class extends base implements DurableObjectHandler {
    readonly #object: DurableServer<Data>;

    constructor(state: DurableState, env: unknown) {
      super(state, env);
      const { context: contextOption, ...others } = options;
      const context =
        typeof contextOption === "function" ? contextOption(state as never, env as never) : contextOption;
      this.#object = new DurableServer(router, { ...others, ...(context && { context }) }, state);
    }

    fetch(request: Request): Promise<Response> {
      return this.#object.fetch(request);
    }

    webSocketMessage(socket: DurableSocket, data: string | ArrayBuffer): Promise<void> {
      return this.#object.message(socket, data);
    }

    webSocketClose(socket: DurableSocket, code: number, reason: string): Promise<void> {
      return this.#object.closed(socket, code, reason);
    }

    webSocketError(socket: DurableSocket): Promise<void> {
      return this.#object.closed(socket, 1006, "");
    }

    alarm(): Promise<void> {
      return this.#object.alarm();
    }

    setAlarm(at: number | null): Promise<void> {
      return this.#object.setAlarm(at);
    }

    publish<S extends AnyMessageSchema>(
      topic: string,
      schema: S,
      ...[payload, options]: SendArguments<S, PublishOptions<S>>
    ): Promise<PublishResult> {
      return this.#object.publish(topic, schema, payload, options ?? {});
    }

    to<C extends AnyChannel>(channel: C, params: ParamsInput<C>): ChannelTarget<C> {
      return this.#object.to(channel, params) as ChannelTarget<C>;
    }

    leave<C extends AnyChannel>(match: DisconnectMatch, channel: C, params: ParamsInput<C>): Promise<number> {
      return this.#object.leave(match, channel, params);
    }

    disconnect(match: DisconnectMatch, options?: DisconnectOptions): Promise<number> {
      return this.#object.disconnect(match, options);
    }
  };
  return created as unknown as DurableObjectClass<Base>;
}
