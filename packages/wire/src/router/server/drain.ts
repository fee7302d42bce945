/** Drains a server: announces it to peers, waits for running calls and unsent bytes, then closes connections. */
import { CLOSE, CONTROL, type Drain } from "../../protocol/control.ts";
import { Timeout } from "../../time/timers.ts";
import type { Connection, Server } from "../contracts.ts";

const GRACE_MS = 1_000;
const CHECK_MS = 20;
/** Reconnections are spread over about a millisecond per peer, to protect the next server. */
const SPREAD_MS_PER_PEER = 1;
const MIN_SPREAD_MS = 100;
const MAX_SPREAD_MS = 10_000;

/** The result of a drain. */
export interface DrainResult {
  /** Connections that were closed with unanswered calls or unsent bytes. */
  readonly forced: number;
}

/** Resolves when no connection is left. Connections still busy after `timeoutMs` are closed. `random` returns numbers from 0 up to 1. */
export async function drain(
  server: Server,
  timeoutMs: number,
  random: () => number = Math.random,
): Promise<DrainResult> {
  const spreadMs = Math.min(
    Math.max(server.connections.size * SPREAD_MS_PER_PEER, MIN_SPREAD_MS),
    MAX_SPREAD_MS,
  );
  const startedAt = server.clock.now();
  const retryAfterMsOf = new Map<Connection, number>();
  for (const connection of server.connections) {
    const retryAfterMs = Math.floor(random() * spreadMs);
    retryAfterMsOf.set(connection, retryAfterMs);
    if (connection.greets) connection.send(CONTROL.drain, { retryAfterMs } satisfies Drain);
  }
  let forced = 0;
  while (server.connections.size > 0) {
    const elapsedMs = server.clock.now() - startedAt;
    const isLate = elapsedMs >= timeoutMs;
    const isPastGrace = elapsedMs >= Math.min(GRACE_MS, timeoutMs);
    for (const connection of [...server.connections]) {
      if (!connection.isOpen) continue;
      if (isPastGrace) endStreams(connection);
      const isIdle = !connection.isBusy && connection.bufferedBytes === 0;
      if (!isLate && !(isIdle && isPastGrace)) continue;
      if (!isIdle) forced++;
      // The newest first: the end of a call lets the next one start, and none may start now.
      for (const call of [...(connection.calls?.values() ?? [])].reverse()) call.abandon();
      connection.close(CLOSE.restarting, `retryAfterMs=${retryAfterMsOf.get(connection) ?? 0}`);
    }
    await pause(server, CHECK_MS);
  }
  return { forced };
}

/** A stream may last for hours; its caller starts it again on another server. */
function endStreams(connection: Connection): void {
  for (const call of [...(connection.calls?.values() ?? [])]) if (call.isStream) call.abandon();
}

function pause(server: Server, delayMs: number): Promise<void> {
  return new Promise((resolve) => server.timers.add(new Timeout(resolve), delayMs));
}
