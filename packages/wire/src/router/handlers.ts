/** The types of what an application registers for a message. */
import type { AnyChannel, ParamsInput } from "../schema/channel.ts";
import type {
  AnyMessageSchema,
  DurableSchema,
  PayloadInput,
  PayloadOutput,
  RpcSchema,
} from "../schema/message.ts";
import type { DurableRouteOptions } from "./calls/durable-route.ts";
import type { ConnectionData } from "./connections/peer.ts";
import type { EventContext, Middleware, Narrowed, RpcContext } from "./context.ts";

/** The handler of a message without a response. */
export type EventHandler<S extends AnyMessageSchema, Data extends ConnectionData> = (
  ctx: EventContext<S, Data>,
) => unknown;
/** The handler of a request. It returns the payload of the response, or calls `ctx.reply` or `ctx.error`. */
export type RpcHandler<S extends RpcSchema, Data extends ConnectionData> = (
  ctx: RpcContext<S, Data>,
) => RpcResult<PayloadInput<S["response"]>>;

/** What a request handler may return: the payload of the response, nothing, or the result of `ctx.reply`. */
export type RpcResult<Payload> = Payload | boolean | void | Promise<Payload | boolean | void>;

/** Registers one message; returned by `router.route(schema)`. */
export interface RouteBuilder<S extends AnyMessageSchema, Data extends ConnectionData, R> {
  /** Adds middleware for this message only. The handler has the data that the middleware's type guarantees. */
  use<Out extends ConnectionData = Data>(
    middleware: Middleware<Data, Out>,
  ): RouteBuilder<S, Narrowed<Data, Out>, R>;
  /**
   * Only for members of the channel on this connection; others get `PERMISSION_DENIED`. `paramsOf` returns the parameters
   * of the channel from the validated payload.
   */
  in<C extends AnyChannel>(
    channel: C,
    paramsOf: (payload: PayloadOutput<S>) => ParamsInput<C>,
  ): RouteBuilder<S, Data, R>;
  /** Registers the handler and returns the router. */
  on(handler: EventHandler<S, Data>): R;
  /** Registers the request handler and returns the router. A durable request needs options, as in `router.rpc`. */
  rpc(
    ...args: S extends DurableSchema
      ? [options: DurableRouteOptions<Data>, handler: RpcHandler<S, Data>]
      : [handler: S extends RpcSchema ? RpcHandler<S, Data> : never]
  ): R;
}

/** Set on the argument of `merge` when this router does not guarantee the connection data that the other one needs. */
export type MergeableInto<Connection, Handler, Other, Needs> = [Connection] extends [Other]
  ? [Handler] extends [Needs]
    ? unknown
    : { readonly "middleware before merge() must guarantee this data": Needs }
  : {
      readonly "every connection must have this data; if only handlers need it, write createRouter<Connection, Handler>()": Other;
    };
