/** Sends flag definitions to trusted server processes that have an API key and no database. */
import { createRouter, type Peer, type Router, WsError } from "@halyard/wire";
import type { HostContext } from "../../server/http/host-request.ts";
import { serviceFinderOf } from "../../server/plugin.ts";
import { type DefinitionsData, DefinitionsReader, type ReaderParts } from "./definitions-reader.ts";
import { Feeds } from "./feeds.ts";
import { admitKey } from "./key-admission.ts";
import { KeyWatch } from "./key-watch.ts";
import { CLOSE_TRY_LATER, GetDefinitions } from "./protocol.ts";

/** The part of an auth instance with `featureFlags()` that is used. */
export type AuthWithDefinitions = {
  /** The options of the instance, with its plugins. */
  readonly options: { readonly plugins?: readonly object[] | undefined };
  /** The context that Better Auth gives to plugins. */
  readonly $context: Promise<object>;
};

/** What an adapter of `@halyard/wire` serves. */
export interface FlagDefinitions {
  /** The handlers. Do not merge it into a router that browsers use. */
  readonly router: Router<DefinitionsData>;
  /** The option `authenticate` of the adapter: admits API keys, and nothing else. */
  readonly authenticate: (
    request: Request,
    credentials: { readonly token: string | undefined },
  ) => Promise<Omit<DefinitionsData, "clientId">>;
}

/**
 * Serves flag definitions to `createRemoteFlags()` of other server processes. Each needs an API key that grants
 * `featureFlag: ["read", "evaluate-as"]`. Requests from browsers are refused.
 *
 * @example
 * ```ts
 * import { createServer } from "node:http";
 * import { featureFlags } from "@halyard/flags";
 * import { flagDefinitions } from "@halyard/flags/live";
 * import { createNodeHandler } from "@halyard/wire/node";
 * import { apiKey } from "@better-auth/api-key";
 * import { betterAuth } from "better-auth";
 *
 * const auth = betterAuth({ plugins: [apiKey(), featureFlags()] });
 * const { router, authenticate } = flagDefinitions(auth);
 * const handler = createNodeHandler(router, { path: "/flag-definitions", authenticate });
 * createServer().on("upgrade", handler.upgrade).listen(3000);
 * ```
 */
export function flagDefinitions(auth: AuthWithDefinitions): FlagDefinitions {
  const serviceOf = serviceFinderOf(auth, "flagDefinitions");
  let parts: Parts | undefined;
  const starting = auth.$context.then((found): Parts => {
    // The type of an auth instance does not declare its context as plugins see it.
    const context = found as HostContext;
    const host = { context, service: serviceOf({ context }) };
    parts = { host, feeds: new Feeds(host.service.store), watch: new KeyWatch(host) };
    return parts;
  });
  // Every upgrade reports it.
  starting.catch(() => undefined);
  const readers = new WeakMap<Peer<DefinitionsData>, DefinitionsReader>();
  const router = createRouter<DefinitionsData>({ heartbeat: {} });

  router.onOpen((ctx) => {
    // `authenticate` has waited for them.
    if (parts === undefined) return ctx.ws.close(CLOSE_TRY_LATER, "The flags are not ready yet.");
    const reader = new DefinitionsReader(ctx, parts);
    readers.set(ctx.ws, reader);
    parts.watch.add(reader);
  });
  router.onClose((ctx) => {
    const reader = readers.get(ctx.ws);
    if (reader === undefined) return;
    parts?.watch.delete(reader);
    parts?.feeds.leave(reader.tenant, reader);
  });
  router.rpc(GetDefinitions, (ctx) => {
    const reader = readers.get(ctx.ws);
    if (reader === undefined) throw new WsError("UNAVAILABLE", "The connection is not ready yet. Try again.");
    return reader.answer(ctx.payload);
  });

  return {
    router,
    async authenticate({ headers, url }, { token }) {
      // Browsers always send it with a WebSocket, and programs do not.
      if (headers.has("origin")) {
        throw new WsError("PERMISSION_DENIED", "Browsers may not read flag definitions.");
      }
      if (token === undefined) throw new WsError("UNAUTHENTICATED", "An API key is required.");
      const { host, watch } = await starting.catch((cause: unknown) => {
        throw new WsError("UNAVAILABLE", "Better Auth did not start.", undefined, { cause });
      });
      const organizationId = new URL(url).searchParams.get("organizationId") ?? undefined;
      const { key, tenant } = await admitKey(host, { headers, key: token, organizationId });
      if (!(await watch.isStored(key.id))) {
        throw new WsError(
          "PERMISSION_DENIED",
          "Only API keys that are stored in the database can be used here.",
        );
      }
      return { keyId: key.id, tenant };
    },
  };
}

interface Parts extends ReaderParts {
  readonly watch: KeyWatch;
}
