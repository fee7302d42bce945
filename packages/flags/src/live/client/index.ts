/** The public names of `@halyard/flags/live-client`: a Better Auth client plugin that keeps flag values current. */
import type { ClientOptions, WsClient } from "@halyard/wire/client";
import type { AuthClientStore } from "../../client/client.ts";
import { type LiveSeam, seams } from "../../client/seam.ts";
import type { AuthFetch } from "../../client/transport.ts";
import { createLink, type Emit, type LiveEvents, type LiveLink, type LiveState } from "./live-link.ts";

export type { LiveEvents, LiveState } from "./live-link.ts";

/** The options of `featureFlagsLiveClient()`: the application's own connection, or the address for a new one. */
export type FeatureFlagsLiveClientOptions =
  | {
      /** The wire client of the application. Flags use its connection, and never open or close it. */
      readonly client: WsClient;
    }
  | {
      /** The address of the router with `liveFlags()`, as `wsClient()` takes it. */
      readonly url: ClientOptions["url"];
    };

/** A subscription to changes of flags. */
export interface FlagsSubscription {
  /** Whether the server pushes changes now. */
  readonly state: LiveState;
  /** Adds a listener; returns a function that removes it. Reads already give the new value when it is called. */
  on<Type extends keyof LiveEvents>(type: Type, listener: (event: LiveEvents[Type]) => void): () => void;
  /** Ends the subscription. Reads keep the values that are known. The application's own connection stays open. */
  close(): void;
}

/** The plugin that `featureFlagsLiveClient` returns. Better Auth's client calls its members. */
export type FeatureFlagsLiveClientPlugin = {
  /** The id of the plugin in Better Auth's client. */
  id: "feature-flags-live";
  /** Creates the helper of one client. */
  getActions: (
    $fetch: AuthFetch,
    $store: AuthClientStore,
  ) => {
    featureFlags: {
      /** Keeps the values of this client current until `close()`. Several subscriptions share one connection. */
      subscribe(): FlagsSubscription;
    };
  };
};

type Listeners = { [Type in keyof LiveEvents]: Set<(event: LiveEvents[Type]) => void> };

/**
 * The plugin that adds `featureFlags.subscribe()`. Use it together with `featureFlagsClient()`. After `subscribe()`, every
 * read, hook and OpenFeature provider follows changes of flags without another request.
 *
 * @example
 * ```ts
 * import { featureFlagsClient } from "@halyard/flags/client";
 * import { featureFlagsLiveClient } from "@halyard/flags/live-client";
 * import { createAuthClient } from "better-auth/client";
 *
 * const authClient = createAuthClient({
 *   plugins: [featureFlagsClient(), featureFlagsLiveClient({ url: "wss://example.com/live" })],
 * });
 * const subscription = authClient.featureFlags.subscribe();
 * subscription.on("flag:updated", ({ key, value }) => console.log(key, value));
 * ```
 */
export function featureFlagsLiveClient(options: FeatureFlagsLiveClientOptions): FeatureFlagsLiveClientPlugin {
  return {
    id: "feature-flags-live",
    getActions(_fetch, $store) {
      const open = new Set<Emit>();
      let shared: Shared | undefined;
      const emit: Emit = (type, event) => {
        for (const one of [...open]) one(type, event);
      };
      return {
        featureFlags: {
          subscribe() {
            const seam = seams.get($store);
            if (seam === undefined) throw new TypeError(WITHOUT_CLIENT);
            const listeners: Listeners = {
              "flag:updated": new Set(),
              "flag:deleted": new Set(),
              state: new Set(),
            };
            const mine: Emit = (type, event) => {
              for (const listener of [...listeners[type]]) listener(event);
            };
            open.add(mine);
            shared ??=
              "client" in options
                ? shareClient(options.client, seam, emit)
                : connect(options.url, seam, emit, $store);
            const used = shared;
            return {
              get state() {
                return open.has(mine) ? (used.link?.state() ?? "connecting") : "closed";
              },
              on(type, listener) {
                listeners[type].add(listener);
                return () => void listeners[type].delete(listener);
              },
              close() {
                if (!open.delete(mine) || open.size > 0) return;
                shared = undefined;
                used.close();
              },
            };
          },
        },
      };
    },
  };
}

const WITHOUT_CLIENT =
  "featureFlags.subscribe() needs featureFlagsClient() in the plugins of the same client. Add it.";

/** One link for all subscriptions of a client. */
interface Shared {
  readonly link: LiveLink | undefined;
  close(): void;
}

function shareClient(wire: WsClient, seam: LiveSeam, emit: Emit): Shared {
  const link = createLink(wire, seam, emit);
  return { link, close: link.close };
}

function connect(url: ClientOptions["url"], seam: LiveSeam, emit: Emit, $store: AuthClientStore): Shared {
  let wire: WsClient | undefined;
  let link: LiveLink | undefined;
  let isClosed = false;
  let isFirst = true;
  // Loaded only here, so that a page with its own wire client has it once.
  void import("@halyard/wire/client").then(({ wsClient }) => {
    if (isClosed) return;
    wire = wsClient({ url });
    link = createLink(wire, seam, emit);
    // Failed attempts are visible in the state: the client polls.
    wire.onError(() => undefined);
    wire.connect().catch(() => undefined);
  });
  $store.listen("$sessionSignal", () => {
    // The store calls a new listener immediately, without a change.
    const isChange = !isFirst;
    isFirst = false;
    // The connection belongs to the session that it was opened with.
    if (!isChange || isClosed || wire === undefined) return;
    if (wire.state !== "closed" && link?.isAnonymous() !== true) return;
    const reconnecting = wire;
    void reconnecting.close().then(() => reconnecting.connect().catch(() => undefined));
  });
  return {
    get link() {
      return link;
    },
    close() {
      isClosed = true;
      link?.close();
      void wire?.close();
    },
  };
}
