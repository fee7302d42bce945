/** The process-wide budget of unsent bytes. Summed only when enough was sent to matter, never on a timer. */
import { CLOSE } from "../protocol/control.ts";
import type { Connection } from "./connection.ts";
import type { Server } from "./server.ts";

/** All servers of this process share one memory. */
const servers = new Set<Server>();

/** Sums anew after this share of the budget has been sent; so the budget may be exceeded by as much in between. */
const LOOK_EVERY_SHARE = 1 / 8;

export class Buffers {
  readonly #server: Server;
  readonly #budgetBytes: number;
  readonly #lookAfterBytes: number;
  readonly #isIsolated: boolean;
  #sentBytes = 0;

  /** An isolated server is looked at alone: its sockets may be touched by nobody else. */
  constructor(server: Server, budgetBytes: number, isIsolated: boolean) {
    this.#server = server;
    this.#budgetBytes = budgetBytes;
    this.#lookAfterBytes = Math.floor(budgetBytes * LOOK_EVERY_SHARE);
    this.#isIsolated = isIsolated;
    if (!isIsolated) servers.add(server);
  }

  /** Something was handed to a socket of this server. */
  grew(bytes: number): void {
    this.#sentBytes += bytes;
    if (this.#sentBytes > this.#lookAfterBytes) this.#look();
  }

  #look(): void {
    this.#sentBytes = 0;
    const buffered: { readonly connection: Connection; readonly bytes: number }[] = [];
    let total = 0;
    for (const server of this.#isIsolated ? [this.#server] : servers) {
      for (const connection of server.connections) {
        const bytes = connection.bufferedBytes;
        total += bytes;
        if (bytes > 0 && connection.isOpen) buffered.push({ connection, bytes });
      }
    }
    if (total <= this.#budgetBytes) return;
    buffered.sort((a, b) => b.bytes - a.bytes);
    for (const { connection, bytes } of buffered) {
      if (total <= this.#budgetBytes) return;
      connection.server.counters.overBudget++;
      connection.close(CLOSE.tryLater, "the server is out of buffer space");
      total -= bytes;
    }
  }

  forget(): void {
    servers.delete(this.#server);
  }
}
