/**
 * Fan-out on Node: a published message is framed once, messages of one topic in one turn of the event loop are joined
 * once, and every subscriber gets them in one write. Uses the TCP socket that the upgrade gave us, no private field.
 */
import type { Duplex } from "node:stream";
import type { SharedFrame, SharedWriter } from "../router/peer.ts";
import { atEndOfTurn } from "./turn.ts";

/** A batch this large is written at once: more would look unsent though the peers could take it. */
const FULL_BYTES = 65_536;

/** A subscriber of a batch: it holds a range of the batch's frames until told to write them. */
export interface BatchMember {
  writeBatch(batch: Batch): void;
}

/** The frames published to one topic in this turn. Members take them one by one, or let them follow. */
export class Batch {
  #members: BatchMember[] = [];
  /** Theirs, in the same order. */
  #sockets: Duplex[] = [];
  #frames: Buffer[] = [];
  /** How many bytes so many frames have. */
  readonly #offsets: number[] = [0];
  /** How many frames a member has that took the last of so many: more, where others followed. */
  readonly #ends: number[] = [0];
  #joined: { from: number; end: number; bytes: Buffer } | undefined;
  last: SharedFrame | undefined;
  size = 0;
  /** How many frames there were when the last one was added to be taken, and how many members still wait that took it. */
  #takenSize = 0;
  #takers = 0;
  /** How much may follow before one of them has too much. */
  #roomBytes = Number.POSITIVE_INFINITY;
  #isScattered = false;
  /** Every member began with the first frame, and none has left. */
  #isWhole = true;
  isWritten = false;

  get bytes(): number {
    return this.#offsets[this.size] ?? 0;
  }

  /** Adds a frame that each member takes, or does not. */
  push(frame: SharedFrame): void {
    this.#add(frame, encoded(frame));
    this.#takenSize = this.size;
    this.#takers = 0;
    this.#roomBytes = Number.POSITIVE_INFINITY;
    this.#isScattered = false;
  }

  /** Adds a frame for all who have the last one; false unless they are so many, and none gets too much by it. */
  follow(frame: SharedFrame, takers: number): boolean {
    if (this.#takers !== takers || this.#isScattered || this.bytes >= FULL_BYTES) return false;
    const bytes = encoded(frame);
    if (bytes.length > this.#roomBytes) return false;
    this.#roomBytes -= bytes.length;
    this.#add(frame, bytes);
    this.#ends[this.#takenSize] = this.size;
    return true;
  }

  #add(frame: SharedFrame, bytes: Buffer): void {
    this.#offsets.push(this.bytes + bytes.length);
    this.#frames.push(bytes);
    this.size++;
    this.#ends.push(this.size);
    this.last = frame;
  }

  /** Who took the last frame is not who gets the next: that one has to be pushed. */
  scatter(): void {
    this.#isScattered = true;
  }

  /** A member begins with the last frame. */
  join(member: BatchMember, socket: Duplex): void {
    this.#members.push(member);
    this.#sockets.push(socket);
    if (this.size > 1) this.#isWhole = false;
  }

  /** A member took the last frame and has room for so much more. */
  took(roomBytes: number): void {
    this.#takers++;
    if (roomBytes < this.#roomBytes) this.#roomBytes = roomBytes;
  }

  /** A member that took so many frames waits no longer. */
  left(to: number): void {
    this.#isWhole = false;
    if (to === this.#takenSize) this.#takers--;
  }

  /** How many frames a member has that took so many. */
  endOf(to: number): number {
    return this.#ends[to] ?? to;
  }

  /** How many bytes a member has that took frames from the one to before the other, with what followed. */
  bytesOf(from: number, to: number): number {
    return (this.#offsets[this.endOf(to)] ?? 0) - (this.#offsets[from] ?? 0);
  }

  /** The same frames as one buffer; nearly always the same range for all members. */
  framesOf(from: number, to: number): Buffer {
    const end = this.endOf(to);
    if (this.#joined?.from === from && this.#joined.end === end) return this.#joined.bytes;
    const frames = this.#frames.slice(from, end);
    const bytes = frames.length === 1 && frames[0] !== undefined ? frames[0] : Buffer.concat(frames);
    this.#joined = { from, end, bytes };
    return bytes;
  }

  /** Nearly always all members get the same, which needs no look at any of them. */
  write(): void {
    if (this.#isWhole && this.#takers === this.#members.length && this.#roomBytes >= 0) {
      const bytes = this.framesOf(0, this.#takenSize);
      for (const socket of this.#sockets) if (!socket.writableEnded) socket.write(bytes);
    } else {
      for (const member of this.#members) member.writeBatch(this);
    }
    this.isWritten = true;
    // Members may keep the batch until they join another.
    this.#members = [];
    this.#sockets = [];
    this.#frames = [];
    this.#joined = undefined;
    this.last = undefined;
  }
}

export class FanOut implements SharedWriter {
  readonly #batches = new Map<string, Batch>();
  /** The one asked for last: nearly always the next member asks for the same. */
  #current: Batch | undefined;

  /** The batch whose last frame is this one. */
  batchOf(frame: SharedFrame): Batch {
    if (this.#current?.last === frame) return this.#current;
    const batch = this.#add(frame);
    this.#current = batch;
    return batch;
  }

  follow(frame: SharedFrame, takers: number): boolean {
    return this.#batches.get(frame.topic)?.follow(frame, takers) ?? false;
  }

  regroup(topic: string): void {
    this.#batches.get(topic)?.scatter();
  }

  #add(frame: SharedFrame): Batch {
    const batch = this.#batches.get(frame.topic);
    if (batch?.last === frame) return batch;
    if (batch !== undefined && batch.bytes < FULL_BYTES) {
      batch.push(frame);
      return batch;
    }
    batch?.write();
    if (this.#batches.size === 0) atEndOfTurn(() => this.#finish());
    const fresh = new Batch();
    fresh.push(frame);
    this.#batches.set(frame.topic, fresh);
    return fresh;
  }

  #finish(): void {
    const batches = [...this.#batches.values()];
    this.#batches.clear();
    this.#current = undefined;
    for (const batch of batches) batch.write();
  }
}

function encoded(frame: SharedFrame): Buffer {
  frame.encoded ??= encodeTextFrame(frame.text);
  return frame.encoded as Buffer;
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
