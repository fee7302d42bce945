/** The routing table: the handler and middleware of each message type. */
import type { AnyMessageSchema, RpcSchema } from "../schema/message.ts";
import type { AnyData } from "./connections/peer.ts";
import type { EventContext, Middleware, RpcContext } from "./context.ts";

/** `isRpc` is a boolean here, because the class of requests extends the class of events. */
type AnyEventContext = Omit<EventContext<AnyMessageSchema, AnyData>, "isRpc"> & { readonly isRpc: boolean };

/** The type of progress depends on the schema. */
type AnyRpcContext = Omit<RpcContext<RpcSchema, AnyData>, "progress"> & {
  progress(data?: unknown): boolean | Promise<void>;
};

interface RouteBase {
  /** Middleware of this route; runs after the router's middleware. */
  readonly middleware: readonly Middleware[];
  /** The whole chain, computed on first use and again when the router's middleware changes. */
  chain: readonly Middleware[] | undefined;
}

export interface EventRoute extends RouteBase {
  readonly kind: "event";
  readonly schema: AnyMessageSchema;
  readonly handler: (ctx: AnyEventContext) => unknown;
}

export interface RpcRoute extends RouteBase {
  readonly kind: "rpc";
  readonly schema: RpcSchema;
  readonly handler: (ctx: AnyRpcContext) => unknown;
}

export type Route = EventRoute | RpcRoute;

export class Routes {
  readonly #routes = new Map<string, Route>();
  readonly #middleware: Middleware[] = [];

  get(type: string): Route | undefined {
    return this.#routes.get(type);
  }

  has(type: string): boolean {
    return this.#routes.has(type);
  }

  set(route: Route): void {
    this.#routes.set(route.schema.type, route);
  }

  values(): Iterable<Route> {
    return this.#routes.values();
  }

  delete(type: string): void {
    this.#routes.delete(type);
  }

  use(middleware: Middleware): void {
    this.#middleware.push(middleware);
    for (const route of this.#routes.values()) route.chain = undefined;
  }

  chainOf(route: Route): readonly Middleware[] {
    route.chain ??= [...this.#middleware, ...route.middleware];
    return route.chain;
  }

  /** Adds the routes of another table. The other table's middleware wraps only those routes. */
  append(other: Routes): void {
    for (const route of other.#routes.values()) {
      this.set({ ...route, middleware: [...other.#middleware, ...route.middleware], chain: undefined });
    }
  }

  clear(): void {
    this.#routes.clear();
    this.#middleware.length = 0;
  }
}
