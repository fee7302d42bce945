/** The connection to the application's live flags, over which the server tells at once that flags have changed. */
import { Changed, Watch } from "@halyard/flags/live";
import { wsClient } from "@halyard/wire/client";

export interface WatchConnection {
  /** Watches the flags that the token is for, also after a reconnection. */
  watch(token: string): void;
  close(): void;
}

interface Listeners {
  /** The flags have this revision. */
  readonly onRevision: (revision: number) => void;
  /** Whether the server tells of changes now. */
  readonly onState: (isLive: boolean) => void;
}

/** `path`: of the WebSocket, at the page's own origin. */
export function openWatchConnection(path: string, { onRevision, onState }: Listeners): WatchConnection {
  const url = new URL(path, location.href);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  const client = wsClient({ url });
  let token: string | undefined;
  const renew = async (): Promise<void> => {
    if (client.state !== "open" || token === undefined) return;
    try {
      const { payload } = await client.request(Watch, { token });
      onState(true);
      onRevision(payload.revision);
    } catch {
      // The console polls until the next token or connection.
      onState(false);
    }
  };
  client.on(Changed, ({ revision }) => onRevision(revision));
  client.onState((state) => {
    if (state === "open") void renew();
    else onState(false);
  });
  // Failed attempts are visible in the state.
  client.onError(() => undefined);
  client.connect().catch(() => undefined);
  return {
    watch(next) {
      token = next;
      void renew();
    },
    close: () => void client.close(),
  };
}
