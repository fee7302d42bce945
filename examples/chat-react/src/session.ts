/** One user's client, with the number of connection attempts and the reason of its end. */
import type { WsError } from "@halyard/wire";
import { type WsClient, wsClient } from "@halyard/wire/client";

export interface LinkNews {
  /** Attempts since the connection was last open. */
  readonly attempt: number;
  /** Why the client is closed, if it closed by itself. */
  readonly ended: WsError | undefined;
}

export interface Session {
  readonly name: string;
  readonly client: WsClient;
  readonly news: () => LinkNews;
  readonly onNews: (callback: () => void) => () => void;
}

/** Created in an event handler, never while rendering, because each one is a separate connection. */
export function createSession(name: string): Session {
  const callbacks = new Set<() => void>();
  let news: LinkNews = { attempt: 0, ended: undefined };
  const tell = (change: Partial<LinkNews>): void => {
    news = { ...news, ...change };
    for (const callback of callbacks) callback();
  };

  const client = wsClient({
    url: "/ws",
    // An example token (see users.ts of the server). As a subprotocol it does not appear in the logs of proxies.
    auth: { getToken: () => `${name}-token`, attach: "protocol" },
    reconnect: { maxDelayMs: 4_000 },
  });
  client.onState((state, info) => {
    if (state === "connecting") tell({ attempt: 1, ended: undefined });
    if (state === "reconnecting") tell({ attempt: info?.attempt ?? 1 });
    if (state === "open") tell({ attempt: 0 });
  });
  client.onError((error, context) => {
    const attempt = error.details?.["attempt"];
    if (client.state === "closed") tell({ attempt: 0, ended: error });
    // A failed attempt: the page shows it, and the client tries again.
    else if (typeof attempt === "number") tell({ attempt });
    else console.warn(`chat: ${context.type}: ${error.code}: ${error.message}`);
  });

  return {
    name,
    client,
    news: () => news,
    onNews(callback) {
      callbacks.add(callback);
      return () => void callbacks.delete(callback);
    },
  };
}
