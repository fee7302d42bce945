/** The public names of `@halyard/flags/node`: the fast path for servers on `node:http`. */
import { toNodeHandler as toOrdinaryHandler } from "better-auth/node";
import { createNodeHandler, type NodeHandler } from "./server/fast/node-handler.ts";
import { type AuthWithHandler, wrappedOf } from "./server/fast/with-feature-flags.ts";

export type { AuthWithHandler, NodeHandler };

/**
 * Creates a listener for `node:http` and frameworks based on it. It answers evaluations and events without creating a
 * `Request` and a `Response` object. Better Auth's own `toNodeHandler` answers all other requests.
 *
 * @example
 * ```ts
 * import { createServer } from "node:http";
 * import { featureFlags } from "@halyard/flags";
 * import { toNodeHandler } from "@halyard/flags/node";
 * import { betterAuth } from "better-auth";
 *
 * const auth = betterAuth({ plugins: [featureFlags()] });
 * createServer(toNodeHandler(auth)).listen(3000);
 * ```
 */
export function toNodeHandler(auth: AuthWithHandler): NodeHandler {
  const { host, ordinary } = wrappedOf(auth);
  return createNodeHandler(host, toOrdinaryHandler(ordinary));
}
