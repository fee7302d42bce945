/** Cloudflare Durable Objects: one object serves a router to its sockets, on the Hibernation API. */
import type { PublishResult } from "../pubsub/pubsub.ts";
import type { PublishOptions, SendArguments } from "../router/context.ts";
import type { DisconnectMatch, DisconnectOptions } from "../router/disconnect.ts";
import type { ConnectionData, ServerContext } from "../router/peer.ts";
import type { Router } from "../router/router.ts";
import type { AnyMessageSchema } from "../schema/message.ts";
import type { DurableSocket, DurableState, DurableStorage } from "./durable-platform.ts";
import { DurableServer, type DurableServerOptions } from "./durable-server.ts";

export {
  createRoomRoutes,
  type RoomNamespace,
  type RoomRoutes,
  type RoomRoutesOptions,
} from "./cloudflare-rooms.ts";

// --- types ---

export type { DurableSocket, DurableState, DurableStorage };

/** A class such as the platform's own `DurableObject`. */
export type DurableObjectBase = abstract new (state: never, env: never) => object;

export interface DurableObjectOptions<
  Data extends ConnectionData = ConnectionData,
  Base extends DurableObjectBase = typeof PlainObject,
> extends Omit<DurableServerOptions<Data>, "context"> {
  /** Becomes `ctx.context`; a function makes each object's own, from what its constructor is given. */
  readonly context?:
    | ServerContext
    | ((state: ConstructorParameters<Base>[0], env: ConstructorParameters<Base>[1]) => ServerContext);
  /**
   * The class to extend. Give `DurableObject` of `cloudflare:workers` to call the object's methods from elsewhere.
   * Default: a class with `ctx` and `env`.
   */
  readonly base?: Base;
}

/** What the class that is made has, besides what its base has. */
export interface DurableObjectHandler {
  /** Answers an upgrade; anything else with 426. */
  fetch(request: Request): Promise<Response>;
  webSocketMessage(socket: DurableSocket, data: string | ArrayBuffer): Promise<void>;
  webSocketClose(socket: DurableSocket, code: number, reason: string): Promise<void>;
  webSocketError(socket: DurableSocket): Promise<void>;
  /** Runs what is due. A class with an `alarm` of its own calls this one first. */
  alarm(): Promise<void>;
  /**
   * Has `alarm` called at this time, in ms since epoch; `null`: no more. An object has one alarm and deadlines use it
   * too, so use this instead of `storage.setAlarm`, and look at the time: `alarm` is called for deadlines as well, and
   * for a time that was set earlier and has been changed.
   */
  setAlarm(at: number | null): Promise<void>;
  /** Publishes to every subscriber of the topic in this object. */
  publish<S extends AnyMessageSchema>(
    topic: string,
    schema: S,
    ...rest: SendArguments<S, PublishOptions<S>>
  ): Promise<PublishResult>;
  /** Closes the connections of this object that match; resolves to how many. The default code is 4403. */
  disconnect(match: DisconnectMatch, options?: DisconnectOptions): Promise<number>;
}

export type DurableObjectClass<Base extends DurableObjectBase> = new (
  ...args: ConstructorParameters<Base>
) => InstanceType<Base> & DurableObjectHandler;

// --- adapter ---

/** The default of the option `base`. */
class PlainObject {
  readonly ctx: DurableState;
  readonly env: unknown;

  constructor(state: DurableState, env: unknown) {
    this.ctx = state;
    this.env = env;
  }
}

/**
 * A class to extend and export as a Durable Object. It needs SQLite storage (`new_sqlite_classes`).
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
>(router: Router<Data>, options: DurableObjectOptions<Data, Base> = {}): DurableObjectClass<Base> {
  const base = (options.base ?? PlainObject) as unknown as new (state: DurableState, env: unknown) => object;

  const made = class extends base implements DurableObjectHandler {
    readonly #object: DurableServer<Data>;

    constructor(state: DurableState, env: unknown) {
      super(state, env);
      const { context: given, ...others } = options;
      const context = typeof given === "function" ? given(state as never, env as never) : given;
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

    disconnect(match: DisconnectMatch, options?: DisconnectOptions): Promise<number> {
      return this.#object.disconnect(match, options);
    }
  };
  return made as unknown as DurableObjectClass<Base>;
}
