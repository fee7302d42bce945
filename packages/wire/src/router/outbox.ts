/** What is on its way to one peer: nothing a handler sent is lost unnoticed, and nobody waits for a peer that does not read. */
import { CLOSE, CONTROL, type Gap } from "../protocol/control.ts";
import { uuidv7 } from "../protocol/uuid.ts";
import type { Connection } from "./connection.ts";
import type { SendOutcome, SharedFrame, Socket } from "./peer.ts";
import { Timeout } from "./timers.ts";

const MAX_PENDING_ACKS = 1_000;
/** Of a WebSocket frame, and of UTF-8 for one unit of a string. */
const MAX_HEADER_BYTES = 14;
const MAX_BYTES_PER_UNIT = 3;
const TOO_SLOW = "the peer reads too slowly";

export class Outbox {
  readonly #connection: Connection;
  readonly #socket: Socket;
  /** Something published was not delivered, and the peer has not been told yet. */
  #hasShed = false;
  /** Set while more bytes wait than allowed. */
  #slowTimer: Timeout | undefined;
  #drainWaiters: ((drained: boolean) => void)[] | undefined;
  #ackWaiters: Map<string, (arrived: boolean) => void> | undefined;

  constructor(connection: Connection, socket: Socket) {
    this.#connection = connection;
    this.#socket = socket;
  }

  /** More unsent bytes than the peer is allowed. */
  get isSlow(): boolean {
    return this.#exceeds(this.#connection.server.options.socketBufferLimitBytes);
  }

  /** Bytes that only wait for the end of this turn are no fault of the peer's: they are handed over before judging. */
  #exceeds(limitBytes: number): boolean {
    if (this.#socket.bufferedBytes <= limitBytes) return false;
    this.#socket.flush?.();
    return this.#socket.bufferedBytes > limitBytes;
  }

  /** Sends a frame that must not be lost: when it cannot be kept, the connection ends. */
  send(frame: string): SendOutcome {
    const outcome = this.#socket.send(frame);
    this.#connection.server.buffers.grew(frame.length);
    if (outcome === "dropped") this.#connection.close(CLOSE.tryLater, TOO_SLOW);
    else if (outcome === "queued") this.#watch();
    return outcome;
  }

  /** Hands over a published frame; false when the peer reads too slowly and the frame was shed. */
  deliver(frame: SharedFrame): boolean {
    const limitBytes = this.#connection.server.options.socketBufferLimitBytes;
    const bufferedBytes = this.#socket.bufferedBytes;
    if (bufferedBytes > limitBytes && this.isSlow) {
      this.#shed();
      return false;
    }
    // The hole comes before what follows it.
    if (this.#hasShed) this.#tellGap();
    const outcome = this.#socket.sendShared?.(frame) ?? this.#socket.send(frame.text);
    if (outcome === "dropped") {
      this.#shed();
      return false;
    }
    // Looked at again only if this frame can have made the difference.
    const mostBytes = bufferedBytes + MAX_HEADER_BYTES + MAX_BYTES_PER_UNIT * frame.text.length;
    if (outcome === "queued" && mostBytes > limitBytes && this.isSlow) this.#becomeSlow();
    return true;
  }

  #shed(): void {
    this.#hasShed = true;
    this.#connection.server.counters.shed++;
    this.#becomeSlow();
  }

  #watch(): void {
    if (!this.isSlow) return;
    const hardLimitBytes = 2 * this.#connection.server.options.socketBufferLimitBytes;
    if (this.#exceeds(hardLimitBytes)) this.#connection.close(CLOSE.tryLater, TOO_SLOW);
    else this.#becomeSlow();
  }

  #becomeSlow(): void {
    if (this.#slowTimer !== undefined) return;
    const { server } = this.#connection;
    this.#slowTimer = new Timeout(() => {
      this.#slowTimer = undefined;
      if (this.isSlow) this.#connection.close(CLOSE.tryLater, TOO_SLOW);
    });
    server.timers.add(this.#slowTimer, server.options.slowConsumerTimeoutMs);
  }

  #tellGap(): void {
    this.#hasShed = false;
    this.#endSlowness();
    this.#connection.server.counters.shedGaps++;
    if (this.#connection.greets) this.#connection.send(CONTROL.gap, { reason: "shed" } satisfies Gap);
  }

  #endSlowness(): void {
    if (this.#slowTimer === undefined) return;
    this.#connection.server.timers.remove(this.#slowTimer);
    this.#slowTimer = undefined;
  }

  /** The peer reads again: tells it of what it missed. */
  drained(): void {
    this.#endSlowness();
    if (this.#hasShed) this.#tellGap();
    for (const resolve of this.#drainWaiters?.splice(0) ?? []) resolve(true);
  }

  /** Resolves to true once no more bytes wait than allowed. */
  whenDrained(signal: AbortSignal | undefined): Promise<boolean> {
    if (!this.isSlow) return Promise.resolve(true);
    return wait(signal, (resolve) => {
      this.#drainWaiters ??= [];
      this.#drainWaiters.push(resolve);
    });
  }

  /** Resolves to true once the peer has echoed a marker sent now. */
  whenAcknowledged(signal: AbortSignal | undefined): Promise<boolean> {
    const { server } = this.#connection;
    this.#ackWaiters ??= new Map();
    if (this.#ackWaiters.size >= MAX_PENDING_ACKS) return Promise.resolve(false);
    const id = uuidv7();
    const timeout = new Timeout(() => this.acknowledge(id, false));
    server.timers.add(timeout, server.options.rpcTimeoutMs);
    this.#connection.send(CONTROL.sync, { id });
    return wait(signal, (resolve) => this.#ackWaiters?.set(id, resolve)).finally(() => {
      server.timers.remove(timeout);
      this.#ackWaiters?.delete(id);
    });
  }

  acknowledge(id: string, arrived: boolean): void {
    this.#ackWaiters?.get(id)?.(arrived);
  }

  /** The connection is gone: nobody gets anything any more. */
  end(): void {
    this.#endSlowness();
    for (const resolve of this.#drainWaiters?.splice(0) ?? []) resolve(false);
    for (const resolve of [...(this.#ackWaiters?.values() ?? [])]) resolve(false);
  }
}

function wait(
  signal: AbortSignal | undefined,
  register: (resolve: (value: boolean) => void) => void,
): Promise<boolean> {
  return new Promise((resolve) => {
    const giveUp = () => resolve(false);
    register((value) => {
      // The signal may outlive this wait by far.
      signal?.removeEventListener("abort", giveUp);
      resolve(value);
    });
    signal?.addEventListener("abort", giveUp, { once: true });
  });
}
