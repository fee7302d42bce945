/** A TCP proxy for fault injection. Each connection gets a random fault until `heal` is called. */
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export const FAULTS = ["pass", "delay", "stall", "cut", "half-open", "trickle", "reset", "slam"] as const;
export type Fault = (typeof FAULTS)[number];

export interface ChaosProxy {
  readonly port: number;
  /** The number of connections per fault. */
  readonly faults: Readonly<Record<Fault, number>>;
  /** Closes faulty connections and forwards everything from now on. */
  heal(): void;
  stop(): Promise<void>;
}

const LONGEST_LIFE_MS = 3_000;
const LONGEST_DELAY_MS = 120;

/** `random` returns numbers from 0 (inclusive) to 1 (exclusive). */
export async function startChaosProxy(target: number, random: () => number): Promise<ChaosProxy> {
  const faults = Object.fromEntries(FAULTS.map((fault) => [fault, 0])) as Record<Fault, number>;
  const sockets = new Set<Socket>();
  let isHealed = false;
  const server = createServer((inner) => {
    const fault: Fault = isHealed ? "pass" : (FAULTS[Math.floor(random() * FAULTS.length)] ?? "pass");
    faults[fault]++;
    sockets.add(inner);
    inner.on("error", () => undefined);
    inner.on("close", () => sockets.delete(inner));
    if (fault === "slam") return void inner.destroy();
    const outer = connect(target, "127.0.0.1");
    sockets.add(outer);
    outer.on("error", () => undefined);
    outer.on("close", () => sockets.delete(outer));
    new FaultyConnection(fault, inner, outer, random).start(isHealed);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    faults,
    heal() {
      isHealed = true;
      for (const socket of sockets) socket.destroy();
    },
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

class FaultyConnection {
  readonly #fault: Fault;
  readonly #inner: Socket;
  readonly #outer: Socket;
  readonly #random: () => number;
  #isSilent = false;

  constructor(fault: Fault, inner: Socket, outer: Socket, random: () => number) {
    this.#fault = fault;
    this.#inner = inner;
    this.#outer = outer;
    this.#random = random;
  }

  /** Every connection ends some time, except a good one. */
  start(lasts: boolean): void {
    const [inner, outer] = [this.#inner, this.#outer];
    for (const [from, to] of [
      [inner, outer],
      [outer, inner],
    ] as const) {
      from.setNoDelay(true);
      from.on("data", (data) => this.#pass(from, to, data));
      from.on("close", () => {
        if (!this.#isSilent) to.destroy();
      });
    }
    if (lasts) return;
    const endMs = this.#random() * LONGEST_LIFE_MS;
    if (this.#fault === "half-open") setTimeout(() => this.#fallSilent(), endMs);
    else setTimeout(() => this.#end(), endMs);
  }

  #end(): void {
    for (const socket of [this.#inner, this.#outer]) {
      if (this.#fault === "reset") socket.resetAndDestroy();
      else socket.destroy();
    }
  }

  /** Drops all bytes without closing either side. */
  #fallSilent(): void {
    this.#isSilent = true;
  }

  #pass(from: Socket, to: Socket, data: Buffer): void {
    if (this.#isSilent) return;
    switch (this.#fault) {
      case "delay":
        return this.#hold(from, this.#random() * LONGEST_DELAY_MS, () => to.write(data));
      case "stall":
        return this.#hold(from, this.#random() < 0.1 ? 4 * LONGEST_DELAY_MS : 0, () => to.write(data));
      case "trickle":
        for (const byte of data) to.write(Uint8Array.of(byte));
        return;
      default:
        to.write(data);
    }
  }

  /** Bytes stay in order: the source pauses while they are held. */
  #hold(from: Socket, delayMs: number, release: () => void): void {
    from.pause();
    setTimeout(() => {
      if (!this.#isSilent) release();
      from.resume();
    }, delayMs);
  }
}
