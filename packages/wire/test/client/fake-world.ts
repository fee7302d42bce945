/** An environment for the client in which the test controls time, randomness, sockets and network events. */
import type { Environment } from "../../src/client/environment.ts";

type Listener = (event: never) => void;

interface Timer {
  readonly at: number;
  readonly order: number;
  readonly callback: () => void;
}

/** A socket whose other end is the test. */
export class FakeSocket {
  readonly url: string;
  readonly protocols: readonly string[];
  readyState = 0;
  protocol = "";
  bufferedAmount = 0;
  /** The client's frames, decoded. */
  readonly sent: { type: string; meta?: Record<string, unknown>; payload?: unknown }[] = [];
  /** The code and reason that the client closed with. */
  farewell: { code: number | undefined; reason: string | undefined } | undefined;
  readonly #listeners = new Map<string, Listener[]>();

  constructor(url: string, protocols: readonly string[]) {
    this.url = url;
    this.protocols = protocols;
  }

  addEventListener(type: string, listener: Listener): void {
    this.#listeners.set(type, [...(this.#listeners.get(type) ?? []), listener]);
  }

  send(frame: string): void {
    if (this.readyState === 1) this.sent.push(JSON.parse(frame));
  }

  close(code?: number, reason?: string): void {
    if (this.readyState > 1) return;
    this.readyState = 2;
    this.farewell = { code, reason };
  }

  /** The other end accepts the connection. */
  accept(protocol = "halyard.v1.json"): void {
    if (this.readyState !== 0) return;
    this.readyState = 1;
    this.protocol = protocol;
    this.#emit("open", {});
  }

  /** The other end accepts the connection and sends hello. */
  greet(hello: Record<string, unknown> = {}, meta: Record<string, unknown> = {}): void {
    this.accept();
    this.deliver(
      "$ws:hello",
      { v: 1, clientId: "c", heartbeatMs: 0, maxPayloadBytes: 1_000_000, ...hello },
      meta,
    );
  }

  deliver(type: string, payload?: unknown, meta: Record<string, unknown> = {}): void {
    this.raw(JSON.stringify({ type, meta, payload }));
  }

  raw(data: unknown): void {
    if (this.readyState === 1) this.#emit("message", { data });
  }

  /** Ends the socket with an error of the platform. */
  fail(error: Error): void {
    this.readyState = 2;
    this.#emit("error", { error, message: error.message });
    this.end();
  }

  /** An attempt that fails on Node 22: the state stays, and no close event follows. */
  failWithoutClose(error: Error): void {
    this.#emit("error", { error, message: error.message });
  }

  /** Ends the socket, as the other end, the network or the client's close would. */
  end(code = 1006, reason = ""): void {
    if (this.readyState === 3) return;
    this.readyState = 3;
    this.#emit("close", { code, reason });
  }

  #emit(type: string, event: unknown): void {
    for (const listener of this.#listeners.get(type) ?? []) listener(event as never);
  }
}

export class FakeWorld implements Environment {
  readonly sockets: FakeSocket[] = [];
  /** The value that the client's `random` returns. */
  chance = 0.5;
  #now = 1_000;
  #order = 0;
  readonly #timers = new Map<number, Timer>();
  readonly #wakers = new Set<() => void>();

  readonly performance: Environment["performance"] = { now: () => this.#now };
  readonly Date: Environment["Date"] = { now: () => 1_700_000_000_000 + this.#now };
  readonly Math: Environment["Math"] = { random: () => this.chance };
  readonly WebSocket: Environment["WebSocket"];

  constructor() {
    const { sockets } = this;
    this.WebSocket = class extends FakeSocket {
      constructor(url: string, protocols: readonly string[]) {
        super(url, protocols);
        sockets.push(this);
      }
    } as unknown as Environment["WebSocket"];
  }

  setTimeout(callback: () => void, delayMs: number): number {
    const order = ++this.#order;
    this.#timers.set(order, { at: this.#now + Math.max(0, delayMs), order, callback });
    return order;
  }

  clearTimeout(handle: unknown): void {
    this.#timers.delete(handle as number);
  }

  addEventListener(type: string, listener: () => void, { signal }: { signal: AbortSignal }): void {
    if (type !== "online") return;
    this.#wakers.add(listener);
    signal.addEventListener("abort", () => this.#wakers.delete(listener));
  }

  /** Fires the network's online event. */
  wake(): void {
    for (const waker of [...this.#wakers]) waker();
  }

  /** The number of listeners for network events. */
  get wakers(): number {
    return this.#wakers.size;
  }

  /** The remaining time of each timer in ms, the next first. */
  get timers(): number[] {
    return [...this.#timers.values()].map(({ at }) => at - this.#now).sort((a, b) => a - b);
  }

  /** The socket created last. */
  get socket(): FakeSocket {
    const last = this.sockets.at(-1);
    if (last === undefined) throw new Error("The client has made no socket.");
    return last;
  }

  /** Advances time and fires the due timers in order. */
  advance(ms: number): void {
    const until = this.#now + ms;
    for (let next = this.#next(until); next !== undefined; next = this.#next(until)) {
      this.#timers.delete(next.order);
      this.#now = Math.max(this.#now, next.at);
      next.callback();
    }
    this.#now = until;
  }

  /** Advances time without running timers, as a sleeping or throttled page does. Due timers fire at the end. */
  sleep(ms: number): void {
    this.#now += ms;
    this.advance(0);
  }

  #next(until: number): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.#timers.values()) {
      if (timer.at > until) continue;
      if (first === undefined || timer.at < first.at || (timer.at === first.at && timer.order < first.order))
        first = timer;
    }
    return first;
  }
}
