/**
 * Which other processes live, as one process knows it, without I/O, clock or randomness: from their signs of life, and
 * from its own, which come back from the broker while it can send and receive.
 */
import { MAX_EVERY_MS, type PeerMessage } from "./peer-message.ts";

const MIN_EVERY_MS = 500;
/** All processes together receive at most this many signs of life in a second. */
const MAX_DELIVERIES_PER_SECOND = 10_000;
/** A process that was silent for this long is dead, and for this many of its intervals. */
const DEAD_AFTER_MS = 3_000;
const DEAD_AFTER_BEATS = 3.5;
/** Without its own signs of life for this long, this process is cut off: a pause as long as another's silence shows here first. */
const CUT_OFF_AFTER_MS = 2_000;
const CUT_OFF_AFTER_BEATS = 2.5;
/** How much longer the others may be silent after an outage of the broker: they may take longer to reconnect. */
const RECONNECT_MS = 1_000;
/** How long the others may take to answer the first sign of life, before this process counts them as known. */
const SETTLE_MS = 300;
/** Any process with access to the broker can invent ids. */
const MAX_PEERS = 1_000;

interface Peer {
  /** Monotonic time in ms. */
  heardAt: number;
  everyMs: number;
}

export type Sign = Pick<PeerMessage & { is: "alive" }, "everyMs" | "hello">;

/** What the state says and reports. */
export interface PeerOutput {
  /** Tells all processes, or one, that this one lives. */
  say(sign: Sign, to?: string): void;
  /** Another process wants to be told what it has missed. */
  asked(): void;
  /** A sign of life, with what the process says of itself. */
  told(peer: string, note: unknown): void;
  /** The process stops. */
  leaving(peer: string, graceMs: number): void;
  /** The process is dead. */
  gone(peer: string): void;
  /** Whether this process is cut off, or knows the others, is not what it was. */
  changed(): void;
}

export class PeerState {
  readonly #id: string;
  readonly #output: PeerOutput;
  readonly #isRemote: boolean;
  readonly #peers = new Map<string, Peer>();
  /** Whether this process sends signs of life, and so learns which others do. */
  #isLive = false;
  #everyMs = MIN_EVERY_MS;
  #saidAt: number = Number.NEGATIVE_INFINITY;
  #echoAt: number = Number.NEGATIVE_INFINITY;
  #settlesAt: number = Number.POSITIVE_INFINITY;
  #isCutOff: boolean;
  #isSettled: boolean;

  /** `isRemote`: processes may die, and the broker may fail. Else all peers are in this process. */
  constructor(id: string, output: PeerOutput, isRemote: boolean) {
    this.#id = id;
    this.#output = output;
    this.#isRemote = isRemote;
    this.#isCutOff = isRemote;
    this.#isSettled = !isRemote;
  }

  /** Whether this process can neither tell who lives nor what changes. */
  get isCutOff(): boolean {
    return this.#isCutOff;
  }

  /** Whether this process has had the time to learn who lives. */
  get isSettled(): boolean {
    return this.#isSettled;
  }

  /** The other processes that live. */
  get ids(): ReadonlySet<string> {
    return new Set(this.#peers.keys());
  }

  /** Signs of life begin. */
  live(now: number): void {
    this.#isLive = true;
    this.#say(true, now);
  }

  /** Signs of life end. Nothing is known about the others any more. */
  rest(): void {
    this.#isLive = false;
    this.#peers.clear();
    this.#echoAt = Number.NEGATIVE_INFINITY;
    this.#settlesAt = Number.POSITIVE_INFINITY;
    this.#isCutOff = this.#isRemote;
    this.#isSettled = !this.#isRemote;
  }

  /** This process is new, or messages may be missing. */
  hello(now: number): void {
    this.#say(true, now);
  }

  /** Waits for signs of life of a process that has shown otherwise that it lives. False: there are too many. */
  expect(peer: string, now: number): boolean {
    if (this.#peers.has(peer)) return true;
    if (this.#peers.size >= MAX_PEERS) return false;
    this.#peers.set(peer, { heardAt: now, everyMs: MIN_EVERY_MS });
    return true;
  }

  receive(message: PeerMessage, now: number): void {
    const { from } = message;
    if (from === this.#id) {
      if (message.is === "alive" && this.#isLive) this.#echo(now);
      return;
    }
    if (message.is === "bye") {
      // Where processes may die, it is known until it is silent: it may still do other work.
      if (!this.#isRemote) this.#peers.delete(from);
      return this.#output.leaving(from, message.graceMs);
    }
    const { everyMs, hello, note } = message;
    if (this.#isLive && everyMs > 0) {
      if (!this.#hears(from, everyMs, now)) return;
      if (hello) this.#output.say({ everyMs: this.#everyMs, hello: false }, from);
      this.#output.told(from, note);
    }
    if (hello) this.#output.asked();
  }

  #hears(id: string, everyMs: number, now: number): boolean {
    const known = this.#peers.get(id);
    if (known === undefined && this.#peers.size >= MAX_PEERS) return false;
    this.#peers.set(id, { heardAt: Math.max(known?.heardAt ?? now, now), everyMs });
    return true;
  }

  /** Call it several times a second. Sends signs of life, and notices who is dead and whether this process is cut off. */
  tick(now: number): void {
    if (!this.#isLive) return;
    const limitMs = Math.max(CUT_OFF_AFTER_MS, CUT_OFF_AFTER_BEATS * this.#everyMs);
    this.#setCutOff(now - this.#echoAt >= limitMs, now);
    if (!this.#isSettled && now >= this.#settlesAt) {
      this.#isSettled = true;
      this.#output.changed();
    }
    // A silent process is not dead while this one cannot receive.
    if (!this.#isCutOff)
      for (const [id, { heardAt, everyMs }] of this.#peers)
        if (now - heardAt >= Math.max(DEAD_AFTER_MS, DEAD_AFTER_BEATS * everyMs)) this.#remove(id);
    if (now - this.#saidAt >= Math.min(this.#everyMs, this.#fairMs)) this.#say(false, now);
  }

  #remove(id: string): void {
    this.#peers.delete(id);
    this.#output.gone(id);
  }

  get #fairMs(): number {
    const deliveries = (this.#peers.size + 1) ** 2;
    const fairMs = (deliveries * 1_000) / MAX_DELIVERIES_PER_SECOND;
    return Math.min(Math.max(MIN_EVERY_MS, fairMs), MAX_EVERY_MS);
  }

  #say(hello: boolean, now: number): void {
    this.#everyMs = this.#fairMs;
    this.#saidAt = now;
    this.#output.say({ everyMs: this.#isLive ? this.#everyMs : 0, hello });
  }

  /** A sign of life of this process came back from the broker: it can send and receive. */
  #echo(now: number): void {
    this.#echoAt = now;
    if (this.#settlesAt === Number.POSITIVE_INFINITY) this.#settlesAt = now + SETTLE_MS;
    this.#setCutOff(false, now);
  }

  #setCutOff(isCutOff: boolean, now: number): void {
    if (isCutOff === this.#isCutOff) return;
    this.#isCutOff = isCutOff;
    // The time without a broker is no silence.
    if (!isCutOff) for (const peer of this.#peers.values()) peer.heardAt = now + RECONNECT_MS;
    this.#output.changed();
  }
}
