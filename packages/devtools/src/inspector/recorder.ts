/** What the inspector remembers: the last frames, and counts per second and per type. All of it is bounded. */

/** One line of the inspector's list. */
export interface RecordedFrame {
  /** Ascending from 1. */
  readonly seq: number;
  /** In ms since epoch. */
  readonly at: number;
  /** `in`: from a client. `out`: to one client. `topic`: published to the subscribers of a topic. */
  readonly direction: "in" | "out" | "topic" | "open" | "close";
  /** The message type; of a closed connection, its code. */
  readonly type: string;
  /** The id of the connection; absent for a topic. */
  readonly clientId?: string;
  readonly topic?: string;
  /** How many connections of this process were subscribed to the topic. */
  readonly subscribers?: number;
  readonly correlationId?: string;
  /** Of a response: the time since its request, in ms. */
  readonly durationMs?: number;
  /** The length of the frame in UTF-16 units; for ASCII text these are bytes. */
  readonly size: number;
  /** The payload, redacted unless the options show it. */
  readonly payload: string;
}

/** How often a message type was seen. */
export interface TypeCount {
  readonly type: string;
  /** Since the start. */
  readonly received: number;
  readonly sent: number;
}

/** Frames per second, the oldest second first. */
export interface Rates {
  readonly received: readonly number[];
  readonly sent: readonly number[];
}

const RATE_SECONDS = 60;
/** Above this many types, the others are counted together. */
const MAX_TYPES = 200;
const OTHER_TYPES = "(other)";
/** The most frames of one answer. */
const MAX_PAGE = 200;

export class Recorder {
  readonly #frames: RecordedFrame[] = [];
  readonly #maxFrames: number;
  readonly #now: () => number;
  #seq = 0;
  readonly #types = new Map<string, { received: number; sent: number }>();
  /** Index: the second since epoch, modulo `RATE_SECONDS`. */
  readonly #buckets = Array.from({ length: RATE_SECONDS }, () => ({ second: 0, received: 0, sent: 0 }));

  constructor(maxFrames: number, now: () => number = Date.now) {
    this.#maxFrames = maxFrames;
    this.#now = now;
  }

  now(): number {
    return this.#now();
  }

  add(frame: Omit<RecordedFrame, "seq" | "at">): void {
    this.#seq++;
    this.#frames[(this.#seq - 1) % this.#maxFrames] = { seq: this.#seq, at: this.#now(), ...frame };
    if (frame.direction === "in") this.#count(frame.type, 1, 0);
    if (frame.direction === "out") this.#count(frame.type, 0, 1);
    if (frame.direction === "topic") this.#count(frame.type, 0, frame.subscribers ?? 0);
  }

  /** The oldest frames after `seq` that are still kept, and how many after it are not kept any more. */
  after(seq: number): { readonly frames: readonly RecordedFrame[]; readonly missed: number } {
    const oldest = Math.max(1, this.#seq - this.#maxFrames + 1);
    // A page that is older than this process begins at the oldest frame.
    const from = seq > this.#seq ? oldest : Math.max(oldest, seq + 1);
    const frames: RecordedFrame[] = [];
    for (let at = from; at <= this.#seq && frames.length < MAX_PAGE; at++) {
      const frame = this.#frames[(at - 1) % this.#maxFrames];
      if (frame !== undefined) frames.push(frame);
    }
    return { frames, missed: seq > this.#seq ? 0 : from - seq - 1 };
  }

  get lastSeq(): number {
    return this.#seq;
  }

  /** The types with the most frames first. */
  types(): TypeCount[] {
    return [...this.#types]
      .map(([type, counts]) => ({ type, ...counts }))
      .sort((a, b) => b.received + b.sent - a.received - a.sent);
  }

  /** The seconds before the current one, which is not complete. */
  rates(): Rates {
    const current = Math.floor(this.#now() / 1_000);
    const read = (what: "received" | "sent"): number[] =>
      Array.from({ length: RATE_SECONDS - 1 }, (_, at) => {
        const second = current - RATE_SECONDS + 1 + at;
        const bucket = this.#buckets[second % RATE_SECONDS];
        return bucket?.second === second ? bucket[what] : 0;
      });
    return { received: read("received"), sent: read("sent") };
  }

  #count(type: string, received: number, sent: number): void {
    const name = this.#types.has(type) || this.#types.size < MAX_TYPES ? type : OTHER_TYPES;
    const counts = this.#types.get(name) ?? { received: 0, sent: 0 };
    this.#types.set(name, counts);
    counts.received += received;
    counts.sent += sent;
    const second = Math.floor(this.#now() / 1_000);
    const bucket = this.#buckets[second % RATE_SECONDS];
    if (bucket === undefined) return;
    if (bucket.second !== second) Object.assign(bucket, { second, received: 0, sent: 0 });
    bucket.received += received;
    bucket.sent += sent;
  }
}
