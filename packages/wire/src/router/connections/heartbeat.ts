/** Detects dead peers: pings silent connections and closes those that stay silent. */
import { CLOSE } from "../../protocol/control.ts";
import { Timeout } from "../../time/timers.ts";
import type { Connection, Server } from "../contracts.ts";
import type { ResolvedOptions } from "../options.ts";
import { guard } from "../pending.ts";

const MAX_SWEEP_MS = 500;
/** Pings per turn of the event loop: thousands of writes in one turn would delay every other peer. */
const PEERS_PER_TURN = 128;
const NO_LIFE = "no sign of life";

type HeartbeatSettings = NonNullable<ResolvedOptions["heartbeat"]>;

/** One sweep over all connections instead of a timer for each. */
export class Heartbeat {
  readonly #server: Server;
  readonly #settings: HeartbeatSettings;
  readonly #sweepMs: number;
  readonly #timeout = new Timeout(() => this.#begin());
  /** When the next sweep is due, and how long all sweeps together were late: time in which no pong could be read. */
  #dueAt = 0;
  #stalledMs = 0;
  #isStopped = false;

  constructor(server: Server, settings: HeartbeatSettings) {
    this.#server = server;
    this.#settings = settings;
    this.#sweepMs = Math.min(MAX_SWEEP_MS, settings.intervalMs / 2, settings.timeoutMs / 2);
    this.#schedule();
  }

  /** The peer sent a frame, so it is alive. */
  sawLife(connection: Connection): void {
    connection.lastSeenAt = this.#server.clock.now();
    connection.pingedAt = undefined;
  }

  stop(): void {
    this.#isStopped = true;
    this.#server.timers.remove(this.#timeout);
  }

  #schedule(): void {
    if (this.#isStopped) return;
    this.#dueAt = this.#server.clock.now() + this.#sweepMs;
    this.#server.timers.add(this.#timeout, this.#sweepMs);
  }

  #begin(): void {
    const lateMs = this.#server.clock.now() - this.#dueAt;
    // A stall of the event loop, and not the granularity of timers.
    if (lateMs > this.#sweepMs) this.#stalledMs += lateMs;
    this.#sweep(this.#server.connections.values(), []);
  }

  /** Time in ms without the stalls of the event loop. */
  #now(): number {
    return this.#server.clock.now() - this.#stalledMs;
  }

  /** Pings silent connections and collects those whose reply is overdue. */
  #sweep(rest: IterableIterator<Connection>, overdue: Connection[]): void {
    if (this.#isStopped) return;
    let pings = 0;
    for (const connection of rest) {
      if (this.#isOverdue(connection)) overdue.push(connection);
      else if (this.#ping(connection) && ++pings >= PEERS_PER_TURN)
        return this.#nextTurn(() => this.#sweep(rest, overdue));
    }
    if (overdue.length === 0) this.#schedule();
    else this.#nextTurn(() => this.#judge(overdue.values()));
  }

  /** Closes the connections that are still overdue, after their replies could be read. */
  #judge(rest: IterableIterator<Connection>): void {
    if (this.#isStopped) return;
    let closes = 0;
    for (const connection of rest) {
      if (!this.#isOverdue(connection)) continue;
      this.#closeStale(connection);
      if (++closes >= PEERS_PER_TURN) return this.#nextTurn(() => this.#judge(rest));
    }
    this.#schedule();
  }

  #nextTurn(callback: () => void): void {
    const { clock } = this.#server;
    if (clock.afterReads === undefined) clock.setTimeout(callback, 0);
    else clock.afterReads(callback);
  }

  #isOverdue({ pingedAt }: Connection): boolean {
    return pingedAt !== undefined && this.#now() - pingedAt >= this.#settings.timeoutMs;
  }

  /** Returns true when it sent a ping. */
  #ping(connection: Connection): boolean {
    if (connection.pingedAt !== undefined || !connection.canPing) return false;
    if (this.#server.clock.now() - connection.lastSeenAt < this.#settings.intervalMs) return false;
    connection.pingedAt = this.#now();
    connection.ping();
    return true;
  }

  #closeStale(connection: Connection): void {
    if (!connection.isOpen) return;
    guard(
      () => this.#settings.onStaleConnection?.(connection.clientId, connection),
      (error) => this.#server.reportOutside(error),
    );
    connection.close(CLOSE.heartbeatLost, NO_LIFE);
    // A dead peer does not answer the close frame.
    connection.closed(CLOSE.heartbeatLost, NO_LIFE);
  }
}
