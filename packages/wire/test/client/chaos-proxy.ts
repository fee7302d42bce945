/** A TCP proxy for a bad day: each connection through it has a fate of its own, until it is told to be good. */
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export const FATES = ["pass", "delay", "stall", "cut", "half-open", "trickle", "reset", "slam"] as const;
export type Fate = (typeof FATES)[number];

export interface ChaosProxy {
  readonly port: number;
  /** How many connections had which fate. */
  readonly fates: Readonly<Record<Fate, number>>;
  /** Ends what is bad, and passes everything on from now on. */
  behave(): void;
  stop(): Promise<void>;
}

const LONGEST_LIFE_MS = 3_000;
const LONGEST_DELAY_MS = 120;

/** `random` gives numbers from 0 up to 1. */
export async function startChaosProxy(target: number, random: () => number): Promise<ChaosProxy> {
  const fates = Object.fromEntries(FATES.map((fate) => [fate, 0])) as Record<Fate, number>;
  const sockets = new Set<Socket>();
  let isGood = false;
  const server = createServer((inner) => {
    const fate: Fate = isGood ? "pass" : (FATES[Math.floor(random() * FATES.length)] ?? "pass");
    fates[fate]++;
    sockets.add(inner);
    inner.on("error", () => undefined);
    inner.on("close", () => sockets.delete(inner));
    if (fate === "slam") return void inner.destroy();
    const outer = connect(target, "127.0.0.1");
    sockets.add(outer);
    outer.on("error", () => undefined);
    outer.on("close", () => sockets.delete(outer));
    new Link(fate, inner, outer, random).start(isGood);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    fates,
    behave() {
      isGood = true;
      for (const socket of sockets) socket.destroy();
    },
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

class Link {
  readonly #fate: Fate;
  readonly #inner: Socket;
  readonly #outer: Socket;
  readonly #random: () => number;
  #isSilent = false;

  constructor(fate: Fate, inner: Socket, outer: Socket, random: () => number) {
    this.#fate = fate;
    this.#inner = inner;
    this.#outer = outer;
    this.#random = random;
  }

  /** A good link lasts; every other one comes to an end. */
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
    if (this.#fate === "half-open") setTimeout(() => this.#fallSilent(), endMs);
    else setTimeout(() => this.#end(), endMs);
  }

  #end(): void {
    for (const socket of [this.#inner, this.#outer]) {
      if (this.#fate === "reset") socket.resetAndDestroy();
      else socket.destroy();
    }
  }

  /** Nothing passes any more, and neither side is told. */
  #fallSilent(): void {
    this.#isSilent = true;
  }

  #pass(from: Socket, to: Socket, data: Buffer): void {
    if (this.#isSilent) return;
    switch (this.#fate) {
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

  /** Bytes stay in order: the source waits while they are held. */
  #hold(from: Socket, delayMs: number, release: () => void): void {
    from.pause();
    setTimeout(() => {
      if (!this.#isSilent) release();
      from.resume();
    }, delayMs);
  }
}
