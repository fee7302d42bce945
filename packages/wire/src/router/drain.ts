/** A server's orderly end: told first, answered, flushed, then closed; forced only at the deadline. */
import { CLOSE, CONTROL, type Drain } from "../protocol/control.ts";
import type { Connection } from "./connection.ts";
import type { Server } from "./server.ts";
import { Timeout } from "./timers.ts";

const GRACE_MS = 1_000;
const CHECK_MS = 20;
/** Peers come back spread over about a millisecond each, so that the next server is not stormed. */
const SPREAD_MS_PER_PEER = 1;
const SHORTEST_SPREAD_MS = 100;
const LONGEST_SPREAD_MS = 10_000;

export interface DrainResult {
  /** Connections closed before their calls were answered or their bytes sent. */
  readonly forced: number;
}

/** Resolves when no connection is left. `random` gives numbers from 0 up to 1. */
export async function drain(
  server: Server,
  timeoutMs: number,
  random: () => number = Math.random,
): Promise<DrainResult> {
  const spreadMs = Math.min(
    Math.max(server.connections.size * SPREAD_MS_PER_PEER, SHORTEST_SPREAD_MS),
    LONGEST_SPREAD_MS,
  );
  const startedAt = server.clock.now();
  const told = new Map<Connection, number>();
  for (const connection of server.connections) {
    const retryAfterMs = Math.floor(random() * spreadMs);
    told.set(connection, retryAfterMs);
    if (connection.greets) connection.send(CONTROL.drain, { retryAfterMs } satisfies Drain);
  }
  let forced = 0;
  while (server.connections.size > 0) {
    const elapsedMs = server.clock.now() - startedAt;
    const isLate = elapsedMs >= timeoutMs;
    for (const connection of [...server.connections]) {
      if (!connection.isOpen) continue;
      const isIdle = !connection.isBusy && connection.bufferedBytes === 0;
      if (!isLate && !(isIdle && elapsedMs >= Math.min(GRACE_MS, timeoutMs))) continue;
      if (!isIdle) forced++;
      for (const call of [...(connection.calls?.values() ?? [])]) call.abandon();
      connection.close(CLOSE.restarting, `retryAfterMs=${told.get(connection) ?? 0}`);
    }
    await pause(server, CHECK_MS);
  }
  return { forced };
}

function pause(server: Server, delayMs: number): Promise<void> {
  return new Promise((resolve) => server.timers.add(new Timeout(resolve), delayMs));
}
