/**
 * Fan-out on Node: a published message is framed once, messages of one topic in one turn of the event loop are joined
 * once, and every subscriber gets them in one write. Uses the TCP socket that the upgrade gave us, no private field.
 */
import type { SharedFrame } from "../router/peer.ts";
import { atEndOfTurn } from "./turn.ts";

/** A batch this large is written at once: more would look unsent though the peers could take it. */
const FULL_BYTES = 65_536;

/** A subscriber of a batch: it holds a range of the batch's frames until told to write them. */
export interface BatchMember {
  writeBatch(batch: Batch): void;
}

/** The frames published to one topic in this turn. */
export class Batch {
  readonly members: BatchMember[] = [];
  readonly #frames: Buffer[] = [];
  /** `#ends[i]`: bytes of all frames up to and including frame i. */
  readonly #ends: number[] = [];
  #joined: { from: number; to: number; bytes: Buffer } | undefined;
  last: SharedFrame | undefined;

  get length(): number {
    return this.#frames.length;
  }

  get bytes(): number {
    return this.#ends.at(-1) ?? 0;
  }

  push(frame: SharedFrame): void {
    frame.encoded ??= encodeTextFrame(frame.text);
    const bytes = frame.encoded as Buffer;
    this.#ends.push(this.bytes + bytes.length);
    this.#frames.push(bytes);
    this.last = frame;
  }

  bytesOf(from: number, to: number): number {
    return (this.#ends[to - 1] ?? 0) - (this.#ends[from - 1] ?? 0);
  }

  /** The frames of a range as one buffer; nearly always the same range for all members. */
  join(from: number, to: number): Buffer {
    if (this.#joined?.from === from && this.#joined.to === to) return this.#joined.bytes;
    const frames = this.#frames.slice(from, to);
    const bytes = frames.length === 1 && frames[0] !== undefined ? frames[0] : Buffer.concat(frames);
    this.#joined = { from, to, bytes };
    return bytes;
  }
}

export class FanOut {
  readonly #batches = new Map<string, Batch>();

  /** The batch whose last frame is this one. */
  batchOf(frame: SharedFrame): Batch {
    const batch = this.#batches.get(frame.topic);
    if (batch?.last === frame) return batch;
    if (batch !== undefined && batch.bytes < FULL_BYTES) {
      batch.push(frame);
      return batch;
    }
    if (batch !== undefined) write(batch);
    if (this.#batches.size === 0) atEndOfTurn(() => this.#finish());
    const fresh = new Batch();
    fresh.push(frame);
    this.#batches.set(frame.topic, fresh);
    return fresh;
  }

  #finish(): void {
    const batches = [...this.#batches.values()];
    this.#batches.clear();
    for (const batch of batches) write(batch);
  }
}

function write(batch: Batch): void {
  for (const member of batch.members) member.writeBatch(batch);
}

/** An unmasked text frame, as a server sends it (RFC 6455, 5.2). */
function encodeTextFrame(text: string): Buffer {
  const length = Buffer.byteLength(text);
  const headerLength = length < 126 ? 2 : length < 65_536 ? 4 : 10;
  const frame = Buffer.allocUnsafe(headerLength + length);
  frame[0] = 0x81;
  if (headerLength === 2) {
    frame[1] = length;
  } else if (headerLength === 4) {
    frame[1] = 126;
    frame.writeUInt16BE(length, 2);
  } else {
    frame[1] = 127;
    frame.writeBigUInt64BE(BigInt(length), 2);
  }
  frame.write(text, headerLength);
  return frame;
}
