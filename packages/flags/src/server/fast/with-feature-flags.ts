/** `withFeatureFlags`: an auth instance that answers for flags before Better Auth is entered. */
import type { Call } from "../call.ts";
import { findService } from "../plugin.ts";
import { createFetchHandler, type FetchHandler } from "./fetch-handler.ts";
import { type HostPath, openHostPath } from "./host-path.ts";

/** The part of an auth instance that is needed to answer in its place. */
export type AuthWithHandler = {
  handler: (request: Request) => Promise<Response>;
  readonly options: { readonly plugins?: readonly object[] | undefined };
  readonly $context: Promise<object>;
};

export interface Wrapped {
  readonly host: HostPath;
  /** As it was. */
  readonly ordinary: (request: Request) => Promise<Response>;
}

const wrapped = new WeakMap<object, Wrapped>();

/**
 * The same auth instance, which answers evaluations and events on the same URLs many times as fast. Better Auth
 * answers everything else, and identifies everybody who has not been seen lately. Where the host has hooks, or another
 * plugin could change an answer, it steps aside and says so in the log.
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
  if (wrapped.has(auth)) return auth;
  const own = wrap(auth);
  const handler: FetchHandler = createFetchHandler(own.host, own.ordinary);
  const made = { ...auth, handler, ...("fetch" in auth && { fetch: handler }) };
  wrapped.set(made, own);
  return made;
}

/** The fast path of an auth instance, its own where `withFeatureFlags` has made it. */
export function wrappedOf(auth: AuthWithHandler): Wrapped {
  return wrapped.get(auth) ?? wrap(auth);
}

function wrap(auth: AuthWithHandler): Wrapped {
  const plugin = auth.options.plugins?.find((one) => findService(one) !== undefined);
  const serviceOf = plugin && findService(plugin);
  if (plugin === undefined || serviceOf === undefined) {
    throw new TypeError(
      "withFeatureFlags: the auth instance has no featureFlags plugin. Add it to its plugins.",
    );
  }
  const host: HostPath = { current: undefined };
  auth.$context.then(
    (context) => {
      // The type of an auth instance does not say what its context is to its plugins.
      const own = context as Call["context"];
      host.current = openHostPath(serviceOf({ context: own }), own, plugin);
    },
    // Better Auth tells whoever asks it.
    () => undefined,
  );
  return { host, ordinary: auth.handler };
}
