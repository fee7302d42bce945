/** Frames on their way to one peer: limits unsent bytes, drops published frames of a slow peer, and reports the gap to it. */
import { uuidv7 } from "@halyard/base";
import { MAX_BYTES_PER_UNIT } from "../../protocol/bytes.ts";
import { CLOSE, CONTROL, type Gap } from "../../protocol/control.ts";
import { Timeout } from "../../time/timers.ts";
import type { Connection } from "../contracts.ts";
import type { SendOutcome, SharedFrame, Socket } from "./peer.ts";

const MAX_PENDING_ACKS = 1_000;
/** Upper bound of the header of a WebSocket frame. */
const MAX_HEADER_BYTES = 14;
const TOO_SLOW = "the peer reads too slowly";
/** How often a slow peer is checked for progress, as a share of `slowConsumerTimeoutMs`. */
export const CHECKS_PER_TIMEOUT = 4;

export class Outbox {
  readonly #connection: Connection;
  readonly #socket: Socket;
  /** A published frame was dropped, and the peer has not received `$ws:gap` yet. */
  #hasShed = false;
  /** Set while more bytes are unsent than allowed. */
  #slowTimer: Timeout | undefined;
  /** While the peer is slow: the monotonic time in ms when bytes were last seen to leave, and `sentBytes` then. */
  #progressAt = 0;
  #sentBytes: number | undefined;
  /** The unsent bytes of a large frame that was sent when no others were waiting; they do not count for the hard limit. */
  #largeFrameBytes = 0;
  /** `bufferedBytes` when the large frame or one behind it was sent. */
  #lastBufferedBytes = 0;
  #drainWaiters: ((drained: boolean) => void)[] | undefined;
  #ackWaiters: Map<string, (arrived: boolean) => void> | undefined;

  constructor(connection: Connection, socket: Socket) {
    this.#connection = connection;
    this.#socket = socket;
  }

  /** Whether more bytes are unsent than allowed. */
  get isSlow(): boolean {
    return this.#exceeds(this.#connection.server.options.socketBufferLimitBytes);
  }

  /** Flushes first: bytes held back until the end of this turn of the event loop do not make the peer slow. */
  #exceeds(limitBytes: number): boolean {
    if (this.#socket.bufferedBytes <= limitBytes) return false;
    this.#socket.flush?.();
    return this.#socket.bufferedBytes > limitBytes;
  }

  /** Sends a frame that must not be lost: the connection is closed when the frame cannot be kept. */
  send(frame: string, shared?: SharedFrame): SendOutcome {
    const limitBytes = this.#connection.server.options.socketBufferLimitBytes;
    const mayBeLarge = MAX_HEADER_BYTES + MAX_BYTES_PER_UNIT * frame.length > 2 * limitBytes;
    const isAlone = mayBeLarge && !this.#exceeds(0);
    if (this.#largeFrameBytes > 0) this.#shrinkLargeFrame();
    const outcome = (shared && this.#socket.sendShared?.(shared)) ?? this.#socket.send(frame);
    this.#connection.server.buffers.grew(frame.length);
    // The peer has closed the connection: its close code is reported, and not that this frame was late.
    if (outcome === "closed") return "dropped";
    if (outcome === "dropped") this.#connection.close(CLOSE.tryLater, TOO_SLOW);
    else if (outcome === "queued") this.#watch(isAlone);
    else if (this.#slowTimer !== undefined) this.#connection.drained();
    else outcome satisfies "sent";
    return outcome;
  }

  /** Sends a published frame; returns false when it was dropped because the peer reads too slowly or has left. */
  deliver(frame: SharedFrame): boolean {
    const limitBytes = this.#connection.server.options.socketBufferLimitBytes;
    const bufferedBytes = this.#socket.bufferedBytes;
    if (bufferedBytes > limitBytes && this.isSlow) {
      this.#shed(frame);
      return false;
    }
    // The gap is reported before the frame that follows it.
    if (this.#hasShed) this.#sendGap();
    const outcome = this.#socket.sendShared?.(frame) ?? this.#socket.send(frame.text);
    if (outcome === "closed") return false;
    if (outcome === "dropped") {
      this.#shed(frame);
      return false;
    }
    // Checked again only if this frame can have exceeded the limit.
    const mostBytes = bufferedBytes + MAX_HEADER_BYTES + MAX_BYTES_PER_UNIT * frame.text.length;
    if (outcome === "queued" && mostBytes > limitBytes && this.isSlow) this.#becomeSlow();
    return true;
  }

  #shed({ fallBehind }: SharedFrame): void {
    this.#becomeSlow();
    if (fallBehind !== undefined) return fallBehind(this.#connection);
    this.#hasShed = true;
    this.#connection.server.counters.shed++;
  }

  /** After a frame was queued; `isAlone`: no other bytes were waiting before it. */
  #watch(isAlone: boolean): void {
    if (!this.isSlow) return;
    const hardLimitBytes = 2 * this.#connection.server.options.socketBufferLimitBytes;
    const bufferedBytes = this.#socket.bufferedBytes;
    if (isAlone && bufferedBytes > hardLimitBytes) this.#largeFrameBytes = bufferedBytes;
    this.#lastBufferedBytes = bufferedBytes;
    if (this.#exceeds(hardLimitBytes + this.#largeFrameBytes))
      this.#connection.close(CLOSE.tryLater, TOO_SLOW);
    else this.#becomeSlow();
  }

  /** What has left the buffer since the last frame is the front of the large one. */
  #shrinkLargeFrame(): void {
    const leftBytes = this.#lastBufferedBytes - this.#socket.bufferedBytes;
    if (leftBytes > 0) this.#largeFrameBytes = Math.max(0, this.#largeFrameBytes - leftBytes);
  }

  #becomeSlow(): void {
    if (this.#slowTimer !== undefined) return;
    this.#slowTimer = new Timeout(() => this.#checkProgress());
    this.#progressed();
    this.#connection.server.native?.slow(this.#connection);
    this.#waitForProgress(this.#slowTimer);
  }

  #progressed(): void {
    this.#progressAt = this.#connection.server.clock.now();
    this.#sentBytes = this.#socket.sentBytes;
  }

  #waitForProgress(timer: Timeout): void {
    const { clock, options, timers } = this.#connection.server;
    const timeoutMs = options.slowConsumerTimeoutMs;
    const remainingMs = this.#progressAt + timeoutMs - clock.now();
    timers.add(timer, Math.max(0, Math.min(remainingMs, timeoutMs / CHECKS_PER_TIMEOUT)));
  }

  #checkProgress(): void {
    const timer = this.#slowTimer;
    if (timer === undefined) return;
    // A platform may empty its buffer within a send, and not report it.
    if (!this.isSlow) return this.#connection.drained();
    if (this.#socket.sentBytes !== this.#sentBytes) this.#progressed();
    const { clock, options } = this.#connection.server;
    if (clock.now() - this.#progressAt >= options.slowConsumerTimeoutMs)
      this.#connection.close(CLOSE.tryLater, TOO_SLOW);
    else this.#waitForProgress(timer);
  }

  #sendGap(): void {
    this.#hasShed = false;
    this.#endSlowness();
    this.#connection.server.counters.shedGaps++;
    if (this.#connection.greets) this.#connection.send(CONTROL.gap, { reason: "shed" } satisfies Gap);
  }

  #endSlowness(): void {
    this.#largeFrameBytes = 0;
    if (this.#slowTimer === undefined) return;
    this.#connection.server.timers.remove(this.#slowTimer);
    this.#slowTimer = undefined;
  }

  /** Bytes have left the buffer. Once it is within the limit, reports a gap to the peer and resolves the waiters. */
  drained(): void {
    if (this.isSlow) return this.#progressed();
    this.#endSlowness();
    if (this.#hasShed) this.#sendGap();
    for (const resolve of this.#drainWaiters?.splice(0) ?? []) resolve(true);
  }

  /** Resolves to true once the unsent bytes are within the limit. */
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

  /** The connection is gone: all waiters resolve to false. */
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
    const abort = () => resolve(false);
    register((value) => {
      // The signal may live much longer than this wait.
      signal?.removeEventListener("abort", abort);
      resolve(value);
    });
    signal?.addEventListener("abort", abort, { once: true });
  });
}
