/** Finds dead peers: pings connections that are silent, gives up those that stay silent. */
import { CLOSE } from "../protocol/control.ts";
import type { Connection } from "./connection.ts";
import type { ResolvedOptions } from "./options.ts";
import { pendingOf } from "./pending.ts";
import type { Server } from "./server.ts";
import { Timeout } from "./timers.ts";

const LONGEST_SWEEP_MS = 500;
/** A ping is a write: ten thousand in one turn would keep every other peer waiting. */
const PEERS_PER_TURN = 128;
const NO_LIFE = "no sign of life";

type HeartbeatSettings = NonNullable<ResolvedOptions["heartbeat"]>;

/** One sweep over all connections instead of a timer for each. */
export class Heartbeat {
  readonly #server: Server;
  readonly #settings: HeartbeatSettings;
  readonly #sweepMs: number;
  readonly #timeout = new Timeout(() => this.#sweep(this.#server.connections.values()));
  #nextTurn: unknown;

  constructor(server: Server, settings: HeartbeatSettings) {
    this.#server = server;
    this.#settings = settings;
    this.#sweepMs = Math.min(LONGEST_SWEEP_MS, settings.intervalMs / 2, settings.timeoutMs / 2);
    this.#server.timers.add(this.#timeout, this.#sweepMs);
  }

  /** Any inbound frame is a sign of life. */
  sawLife(connection: Connection): void {
    connection.lastSeenAt = this.#server.clock.now();
    connection.pingedAt = undefined;
  }

  stop(): void {
    this.#server.timers.remove(this.#timeout);
    if (this.#nextTurn !== undefined) this.#server.clock.clearTimeout(this.#nextTurn);
  }

  /** Goes on with the rest in the next turn when there is much to do. */
  #sweep(rest: IterableIterator<Connection>): void {
    this.#nextTurn = undefined;
    const now = this.#server.clock.now();
    let peers = 0;
    for (const connection of rest) {
      if (!this.#check(connection, now) || ++peers < PEERS_PER_TURN) continue;
      this.#nextTurn = this.#server.clock.setTimeout(() => this.#sweep(rest), 0);
      return;
    }
    this.#server.timers.add(this.#timeout, this.#sweepMs);
  }

  /** True when there was something to do. */
  #check(connection: Connection, now: number): boolean {
    if (connection.pingedAt !== undefined) {
      if (now - connection.pingedAt < this.#settings.timeoutMs) return false;
      this.#giveUp(connection);
      return true;
    }
    if (now - connection.lastSeenAt < this.#settings.intervalMs || !connection.canPing) return false;
    connection.pingedAt = now;
    connection.ping();
    return true;
  }

  #giveUp(connection: Connection): void {
    if (!connection.isOpen) return;
    const report = (error: unknown): void => this.#server.reportOutside(error);
    try {
      pendingOf(this.#settings.onStaleConnection?.(connection.clientId, connection))?.catch(report);
    } catch (error) {
      report(error);
    }
    connection.close(CLOSE.heartbeatLost, NO_LIFE);
    // Nobody is there to answer the close frame.
    connection.closed(CLOSE.heartbeatLost, NO_LIFE);
  }
}
