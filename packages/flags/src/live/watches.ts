/** Tells consoles when the flags of a tenant change: only that they did, because the console reads them over HTTP. */
import { later } from "@halyard/base";
import type { ConnectionData, OpenContext, Router, RpcContext } from "@halyard/wire";
import { createWatchTokens } from "../server/console/watch-token.ts";
import { secretsOf } from "../server/evaluation/exposure-tokens.ts";
import type { HostContext } from "../server/http/host-request.ts";
import type { Service } from "../server/service.ts";
import { Changed, Watch, Watched } from "./watch-messages.ts";

/** Of the auth instance. */
export interface WatchHost {
  readonly service: Service;
  readonly context: HostContext;
}

/** Ends the watches of a router's connections. */
export interface Watches {
  end(connection: object): void;
  close(): void;
}

/** `contextOf` gives the context that outlives the request of a connection. */
export function mountWatches<Data extends ConnectionData>(
  router: Router<Data>,
  open: () => Promise<WatchHost>,
  contextOf: (connection: object) => OpenContext<Data> | undefined,
): Watches {
  const stops = new Map<object, () => void>();
  let isClosed = false;

  function end(connection: object): void {
    stops.get(connection)?.();
    stops.delete(connection);
  }

  async function watch(ctx: RpcContext<typeof Watch, Data>): Promise<number | undefined> {
    const { service, context } = await open();
    const grant = createWatchTokens(secretsOf(context)).read(ctx.payload.token, Date.now());
    const { userId } = ctx.data as { readonly userId?: unknown };
    if (grant === undefined || grant.userId !== userId || isClosed) return undefined;
    const { snapshot } = await service.store.snapshot(grant.tenant);
    const { ws } = ctx;
    const connection = contextOf(ws);
    // The connection may have been closed meanwhile.
    if (connection === undefined || isClosed) return undefined;
    end(ws);
    let told = snapshot.revision;
    const stop = service.store.follow(grant.tenant, ({ revision }) => {
      if (revision === told) return;
      told = revision;
      connection.send(Changed, { revision });
    });
    const expiry = later(() => end(ws), grant.untilMs - Date.now());
    stops.set(ws, () => {
      clearTimeout(expiry);
      stop();
    });
    return told;
  }

  router.rpc(Watch, async (ctx) => {
    const revision = await watch(ctx);
    if (revision !== undefined) return ctx.reply(Watched, { revision });
    ctx.error("PERMISSION_DENIED", "The token is not valid for this connection. Ask for a new one.");
  });
  return {
    end,
    close() {
      isClosed = true;
      for (const connection of [...stops.keys()]) end(connection);
    },
  };
}
