/**
 * Fan-out on Node: a published message is encoded once, the messages of one topic in one turn of the event loop are
 * joined once, and each subscriber gets them in one write, directly to the TCP socket of the upgrade.
 */
import type { Duplex } from "node:stream";
import type { SharedFrame, SharedWriter } from "../router/connections/peer.ts";
import { atEndOfTurn } from "./turn.ts";

/** A batch of this size is written at once; held back longer, its bytes would count as unsent. */
const FULL_BYTES = 65_536;

/** A subscriber in a batch; it has a range of the batch's frames to write. */
export interface BatchMember {
  writeBatch(batch: Batch): void;
}

/** The frames of one topic in this turn, or one frame without a topic. A member takes each frame, or all members get it with `follow`. */
export class Batch {
  #members: BatchMember[] = [];
  /** The sockets of the members, in the same order. */
  #sockets: Duplex[] = [];
  #frames: Buffer[] = [];
  /** The size of the first n frames in bytes, by n. */
  readonly #offsets: number[] = [0];
  /** The last frame of a member, by the number it took; higher when frames followed. */
  readonly #ends: number[] = [0];
  #joined: { from: number; end: number; bytes: Buffer } | undefined;
  last: SharedFrame | undefined;
  size = 0;
  /** The number of frames when the last one was pushed, and how many members took it and have not written yet. */
  #takenSize = 0;
  #takers = 0;
  /** How many bytes may follow before one member exceeds its limit. */
  #roomBytes = Number.POSITIVE_INFINITY;
  #isScattered = false;
  /** Whether every member began with the first frame, and none has left. */
  #isWhole = true;
  isWritten = false;

  get bytes(): number {
    return this.#offsets[this.size] ?? 0;
  }

  /** Adds a frame that each member may take. */
  push(frame: SharedFrame): void {
    this.#add(frame, encoded(frame));
    this.#takenSize = this.size;
    this.#takers = 0;
    this.#roomBytes = Number.POSITIVE_INFINITY;
    this.#isScattered = false;
  }

  /** Adds a frame for all members that took the last one. Returns false if their number is not `takers`, one has no room, or the frame has to be pushed. */
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

  /** The subscribers have changed, so the next frame cannot follow and has to be pushed. */
  scatter(): void {
    this.#isScattered = true;
  }

  /** Adds a member, beginning with the last frame. */
  join(member: BatchMember, socket: Duplex): void {
    this.#members.push(member);
    this.#sockets.push(socket);
    if (this.size > 1) this.#isWhole = false;
  }

  /** A member took the last frame and has room for this many more bytes. */
  took(roomBytes: number): void {
    this.#takers++;
    if (roomBytes < this.#roomBytes) this.#roomBytes = roomBytes;
  }

  /** A member that took frames up to `to` has written them. */
  left(to: number): void {
    this.#isWhole = false;
    if (to === this.#takenSize) this.#takers--;
  }

  /** The last frame received by a member that took frames up to `to`. */
  endOf(to: number): number {
    return this.#ends[to] ?? to;
  }

  /** The size of the frames of a member that took `from` to `to`, including those that followed, in bytes. */
  bytesOf(from: number, to: number): number {
    return (this.#offsets[this.endOf(to)] ?? 0) - (this.#offsets[from] ?? 0);
  }

  /** The frames of such a member as one buffer; cached, because nearly all members have the same range. */
  framesOf(from: number, to: number): Buffer {
    const end = this.endOf(to);
    if (this.#joined?.from === from && this.#joined.end === end) return this.#joined.bytes;
    const frames = this.#frames.slice(from, end);
    const bytes = frames.length === 1 && frames[0] !== undefined ? frames[0] : Buffer.concat(frames);
    this.#joined = { from, end, bytes };
    return bytes;
  }

  /** Writes the batch. In the usual case all members get the same bytes, and none has to be checked. */
  write(): void {
    if (this.#isWhole && this.#takers === this.#members.length && this.#roomBytes >= 0) {
      const bytes = this.framesOf(0, this.#takenSize);
      for (const socket of this.#sockets) if (!socket.writableEnded) socket.write(bytes);
    } else {
      for (const member of this.#members) member.writeBatch(this);
    }
    this.isWritten = true;
    // Released, because members may reference the batch until they join another.
    this.#members = [];
    this.#sockets = [];
    this.#frames = [];
    this.#joined = undefined;
    this.last = undefined;
  }
}

/** The batches of this turn of the event loop: of each topic, and of each frame without a topic. */
export class FanOut implements SharedWriter {
  readonly #batches = new Map<string | SharedFrame, Batch>();
  /** The last batch; nearly always the next member uses the same. */
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
    const key = frame.topic || frame;
    const batch = this.#batches.get(key);
    if (batch?.last === frame) return batch;
    if (batch !== undefined && batch.bytes < FULL_BYTES) {
      batch.push(frame);
      return batch;
    }
    batch?.write();
    if (this.#batches.size === 0) atEndOfTurn(() => this.#finish());
    const added = new Batch();
    added.push(frame);
    this.#batches.set(key, added);
    return added;
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
