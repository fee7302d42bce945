/** The public names of `@halyard/flags/node`: the fast path for servers on `node:http`. */
import { createNodeHandler } from "./server/fast/node-handler.ts";
import type { NodeHandler } from "./server/fast/ordinary-listener.ts";
import { type AuthWithHandler, wrappedOf } from "./server/fast/with-feature-flags.ts";

export type { AuthWithHandler, NodeHandler };

/**
 * Creates a listener for `node:http` and frameworks based on it. It answers evaluations and events without creating a
 * `Request` and a `Response` object. Better Auth answers all other requests. The listener never rejects: a request
 * whose target, host or forwarded protocol is malformed gets 400, and any other error 500.
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
  return createNodeHandler(wrappedOf(auth));
}
