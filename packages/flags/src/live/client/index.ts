/** The public names of `@halyard/flags/live-client`: a Better Auth client plugin that keeps flag values current. */
import type { ClientOptions, WsClient } from "@halyard/wire/client";
import type { AuthClientStore } from "../../client/client.ts";
import { callListener } from "../../client/listener.ts";
import type { ClientSeam, SeamStore } from "../../client/seam.ts";
import type { AuthFetch } from "../../client/transport.ts";
import {
  createLink,
  type Emit,
  ignore,
  type LiveEvents,
  type LiveLink,
  type LiveState,
  reopen,
} from "./live-link.ts";

export type { LiveEvents, LiveState } from "./live-link.ts";

/** The options of `featureFlagsLiveClient()`: the application's own connection, or the address for a new one. */
export type FeatureFlagsLiveClientOptions =
  | {
      /**
       * The wire client of the application. Flags use its connection. They open it again only when another user has signed
       * in, because a connection keeps the session that it was opened with.
       */
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
      /** The listeners of all subscriptions. They share one link. */
      const open = new Set<Listeners>();
      let shared: LiveLink | undefined;
      const emit: Emit = (type, event) => {
        for (const listeners of [...open])
          for (const [wanted, call] of listeners) if (wanted === type) callListener(call, event as never);
      };
      return {
        featureFlags: {
          subscribe() {
            const seam = ($store as SeamStore).$flags;
            if (!seam) throw new TypeError("Add the plugin featureFlagsClient().");
            const listeners: Listeners = new Set();
            open.add(listeners);
            shared ??=
              "client" in options
                ? createLink(options.client, seam, emit)
                : connect(options.url, seam, emit, $store);
            const link = shared;
            seam.live = link.state;
            return {
              get state() {
                return open.has(listeners) ? link.state() : "closed";
              },
              on(type, call) {
                const listener: Listener = [type, call as Listener[1]];
                listeners.add(listener);
                return () => void listeners.delete(listener);
              },
              close() {
                if (!open.delete(listeners) || open.size > 0) return;
                shared = undefined;
                link.close();
              },
            };
          },
        },
      };
    },
  };
}

type Listener = readonly [type: keyof LiveEvents, call: (event: never) => void];
type Listeners = Set<Listener>;

/** A link over a connection of its own. */
function connect(url: ClientOptions["url"], seam: ClientSeam, emit: Emit, $store: AuthClientStore): LiveLink {
  let wire: WsClient | undefined;
  let link: LiveLink | undefined;
  let isClosed = false;
  const open = () => !isClosed && wire && reopen(wire);
  // Loaded only here, so that a page with its own wire client has it once.
  import("@halyard/wire/client").then(({ wsClient }) => {
    wire = wsClient({ url });
    // Failed attempts are visible in the state: the client polls.
    wire.onError(ignore);
    if (!isClosed) link = createLink(wire, seam, emit);
    open();
  }, ignore);
  // The connection belongs to the session that it was opened with. The first call comes before the client is loaded.
  $store.listen("$sessionSignal", open);
  return {
    state: () => link?.state() ?? "connecting",
    close() {
      isClosed = true;
      link?.close();
      void wire?.close();
    },
  };
}
