/** The one WebSocket of the page: for stock messages and for flags. */
import { wsClient } from "@halyard/wire/client";
import { useSyncExternalStore } from "react";
import { Buy, Stock, type StockLevels } from "./messages.ts";

/** On the server it never connects. */
export const socket = wsClient({ url: "/socket" });

let levels: StockLevels | undefined;
const listeners = new Set<() => void>();
socket.on(Stock, ({ left }) => {
  levels = left;
  for (const listener of listeners) listener();
});

/** How many of each good are left: from the rendered page at first, then from the socket. */
export function useStock(rendered: StockLevels): StockLevels {
  const read = () => levels ?? rendered;
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    read,
    () => rendered,
  );
}

export async function buy(name: string): Promise<void> {
  await socket.request(Buy, { name });
}

/** A WebSocket keeps the session that it was opened with, so a sign-in or sign-out opens a new one. */
export async function reconnect(): Promise<void> {
  await socket.close();
  connect();
}

/** Failed attempts are repeated. Until one succeeds, flags are polled and the stock is that of the rendered page. */
export function connect(): void {
  socket.connect().catch(() => undefined);
}
