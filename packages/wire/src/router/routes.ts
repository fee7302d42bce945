/** The table of routes: which handler, behind which middleware, answers which type. */
import type { AnyMessageSchema, RpcSchema } from "../schema/message.ts";
import type { InboundCall } from "./inbound-call.ts";
import type { InboundEvent } from "./inbound-event.ts";
import type { AnyMiddleware } from "./middleware.ts";

interface RouteBase {
  /** Middleware of this route, after the router's own. */
  readonly middleware: readonly AnyMiddleware[];
  /** The whole chain, computed on first use and again when the router's middleware changes. */
  chain: readonly AnyMiddleware[] | undefined;
}

export interface EventRoute extends RouteBase {
  readonly kind: "event";
  readonly schema: AnyMessageSchema;
  readonly handler: (ctx: InboundEvent) => unknown;
}

export interface RpcRoute extends RouteBase {
  readonly kind: "rpc";
  readonly schema: RpcSchema;
  readonly handler: (ctx: InboundCall) => unknown;
}

export type Route = EventRoute | RpcRoute;

export class Routes {
  readonly #routes = new Map<string, Route>();
  readonly #middleware: AnyMiddleware[] = [];

  get(type: string): Route | undefined {
    return this.#routes.get(type);
  }

  has(type: string): boolean {
    return this.#routes.has(type);
  }

  set(route: Route): void {
    this.#routes.set(route.schema.type, route);
  }

  delete(type: string): void {
    this.#routes.delete(type);
  }

  use(middleware: AnyMiddleware): void {
    this.#middleware.push(middleware);
    for (const route of this.#routes.values()) route.chain = undefined;
  }

  chainOf(route: Route): readonly AnyMiddleware[] {
    route.chain ??= [...this.#middleware, ...route.middleware];
    return route.chain;
  }

  /** Takes over the routes of another table; that table's own middleware goes on wrapping them, and nothing else. */
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
