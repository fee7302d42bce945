/** The fast path for servers on `node:http`. */
import { toNodeHandler as toOrdinaryHandler } from "better-auth/node";
import { createNodeHandler, type NodeHandler } from "./server/fast/node-handler.ts";
import { type AuthWithHandler, wrappedOf } from "./server/fast/with-feature-flags.ts";

export type { AuthWithHandler, NodeHandler };

/**
 * A listener for `node:http`, and for frameworks on it, that answers evaluations and events without building a
 * `Request` and a `Response` for each. Better Auth's own `toNodeHandler` answers everything else.
 *
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
