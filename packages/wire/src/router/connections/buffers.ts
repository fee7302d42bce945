/** The process-wide budget of unsent bytes. The sum is computed after a share of the budget was sent, never on a timer. */
import { CLOSE } from "../../protocol/control.ts";
import type { Connection, Server } from "../contracts.ts";

/** All servers of this process share one budget. */
const servers = new Set<Server>();

/** The sum is computed after this share of the budget was sent, so the budget may be exceeded by this share. */
const CHECK_EVERY_SHARE = 1 / 8;

export class Buffers {
  readonly #server: Server;
  readonly #budgetBytes: number;
  readonly #checkAfterBytes: number;
  readonly #isIsolated: boolean;
  #sentBytes = 0;

  /** An isolated server is checked alone: other servers must not use its sockets. */
  constructor(server: Server, budgetBytes: number, isIsolated: boolean) {
    this.#server = server;
    this.#budgetBytes = budgetBytes;
    this.#checkAfterBytes = Math.floor(budgetBytes * CHECK_EVERY_SHARE);
    this.#isIsolated = isIsolated;
    if (!isIsolated) servers.add(server);
  }

  /** Bytes were given to a socket of this server. */
  grew(bytes: number): void {
    this.#sentBytes += bytes;
    if (this.#sentBytes > this.#checkAfterBytes) this.#check();
  }

  #check(): void {
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

  /** Removes the server from the budget. */
  remove(): void {
    servers.delete(this.#server);
  }
}
