/** One person's client, and the two things about its link that a state does not say: which attempt, and why it ended. */
import type { WsError } from "@halyard/wire";
import { type WsClient, wsClient } from "@halyard/wire/client";

export interface LinkNews {
  /** Sockets tried since the link was last open. */
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

/** Made in an event handler, never while rendering: each one is a connection of its own. */
export function createSession(name: string): Session {
  const callbacks = new Set<() => void>();
  let news: LinkNews = { attempt: 0, ended: undefined };
  const tell = (change: Partial<LinkNews>): void => {
    news = { ...news, ...change };
    for (const callback of callbacks) callback();
  };

  const client = wsClient({
    url: "/ws",
    // A made-up token: see users.ts of the server. As a subprotocol it stays out of the logs of proxies.
    auth: { getToken: () => `${name}-token`, attach: "protocol" },
    reconnect: { maxDelayMs: 4_000 },
    wsFactory(url, protocols) {
      tell({ attempt: news.attempt + 1, ended: undefined });
      return new WebSocket(url, protocols);
    },
  });
  client.onState((state) => {
    if (state === "open") tell({ attempt: 0 });
  });
  client.onError((error, context) => {
    if (client.state === "closed") tell({ attempt: 0, ended: error });
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
