/** `withFeatureFlags`: an auth instance that answers evaluations and events on the fast path. */
import type { HostContext } from "../http/host-request.ts";
import { loggable } from "../metrics/loggable.ts";
import { portOf } from "../port.ts";
import { createFetchHandler, type FetchHandler } from "./fetch-handler.ts";
import type { HostPath, Wrapped } from "./host-path.ts";

/** The members of an auth instance that the fast path needs. */
export type AuthWithHandler = {
  /** Answers a request. */
  handler: (request: Request) => Promise<Response>;
  /** The options of the instance, with its plugins. */
  readonly options: { readonly plugins?: readonly object[] | undefined };
  /** The context that Better Auth gives to plugins. */
  readonly $context: Promise<object>;
};

/**
 * The same auth instance, answering evaluations and events on the same URLs many times faster. Better Auth answers
 * everything else, and verifies callers that are not in the principal cache. When the host has hooks, or another plugin
 * could change an answer, the fast path stays off and logs why.
 *
 * ```ts
 * import { featureFlags, withFeatureFlags } from "@halyard/flags";
 * import { betterAuth } from "better-auth";
 * import { Pool } from "pg";
 *
 * export const auth = withFeatureFlags(betterAuth({ database: new Pool(), plugins: [featureFlags()] }));
 * ```
 */
export function withFeatureFlags<Auth extends AuthWithHandler>(auth: Auth): Auth {
  const { wrapped } = portOf(auth, "withFeatureFlags");
  if (wrapped.has(auth)) return auth;
  const wrapping = wrap(auth, "withFeatureFlags");
  const handler: FetchHandler = createFetchHandler(wrapping.host, wrapping.ordinary);
  const fastAuth = { ...auth, handler, ...("fetch" in auth && { fetch: handler }) };
  wrapped.set(fastAuth, wrapping);
  return fastAuth;
}

/** The fast path of an auth instance: the one that `withFeatureFlags` created, else a new one. */
export function wrappedOf(auth: AuthWithHandler): Wrapped {
  return portOf(auth, "toNodeHandler").wrapped.get(auth) ?? wrap(auth, "toNodeHandler");
}

function wrap(auth: AuthWithHandler, caller: string): Wrapped {
  const port = portOf(auth, caller);
  const host: HostPath = { current: undefined };
  auth.$context.then(
    (context) => {
      // The type of an auth instance does not declare its context as plugins see it.
      host.current = port.openHostPath(context as HostContext);
    },
    // Better Auth reports this failure to every request.
    () => undefined,
  );
  const report = (error: unknown) => {
    const message = "[feature-flags] A request could not be answered.";
    auth.$context.then(
      (context) => (context as HostContext).logger.error(message, loggable(error)),
      // Better Auth did not start, so there is no logger.
      () => console.error(message, loggable(error)),
    );
  };
  return { host, ordinary: auth.handler, report };
}
