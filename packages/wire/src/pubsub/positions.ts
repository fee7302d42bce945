/** Sequence numbers of published and received messages: comparing them reveals gaps. */
import { copyText } from "../protocol/copy-text.ts";
import { sequenceAt, timeOf } from "./sequence-time.ts";

/** Up to this many topics are kept, however old their last message is. */
const KEPT_TOPICS = 100_000;
/** Above that, a topic is dropped when its last message is older than this. */
const DROP_AFTER_MS = 60 * 60_000;
/** How many topics are examined when a topic is added: more than one, so that more can be dropped than added. */
const EXAMINED = 2;
const FIRST_CAPACITY = 64;

interface Numbered {
  /** Where the topic's numbers are kept, for `accepted`, `failed` and `withdrawn`. */
  readonly place: number;
  readonly sequence: number;
  readonly previous: number;
}

/** Numbers the messages that this process publishes. The numbers of all topics are kept in columns, to save memory. */
export class PublishedPositions {
  readonly #places = new Map<string, number>();
  /** Goes round the topics, to find those that can be dropped. */
  #examined = this.#places.entries();
  readonly #free: number[] = [];
  #used = 0;
  /** The last message given to the transport. */
  #sent = new Float64Array(FIRST_CAPACITY);
  /** The last message that the broker accepted. */
  #accepted = new Float64Array(FIRST_CAPACITY);
  /** The last message that may not have reached the broker. */
  #failed = new Float64Array(FIRST_CAPACITY);
  /** The last message of all topics. */
  #sequence = 0;
  /** The last message of the topics that were dropped; 0 when there is none. */
  #dropped = 0;

  /** Assigns the numbers of the next message on the topic, published at this monotonic time in ms. */
  next(topic: string, now: number): Numbered {
    const sequence = Math.max(this.#sequence + 1, sequenceAt(now));
    this.#sequence = sequence;
    const place = this.#places.get(topic);
    if (place === undefined) return { place: this.#add(topic, now), sequence, previous: this.#dropped };
    // Failed publishes are not part of the order: the application received the failure.
    const sent = this.#sent[place] ?? 0;
    const previous = sent > (this.#failed[place] ?? 0) ? sent : (this.#accepted[place] ?? 0);
    this.#sent[place] = sequence;
    return { place, sequence, previous };
  }

  accepted(place: number, sequence: number): void {
    if (sequence > (this.#accepted[place] ?? 0)) this.#accepted[place] = sequence;
  }

  failed(place: number, sequence: number): void {
    if (sequence > (this.#failed[place] ?? 0)) this.#failed[place] = sequence;
  }

  /** The message just numbered was not sent; the next one follows `previous`. */
  withdrawn(place: number, previous: number): void {
    this.#sent[place] = previous;
  }

  /** Every topic, with the last accepted message; 0 when none was. */
  *[Symbol.iterator](): Iterator<{ readonly topic: string; readonly accepted: number }> {
    for (const [topic, place] of this.#places) yield { topic, accepted: this.#accepted[place] ?? 0 };
  }

  #add(topic: string, now: number): number {
    this.#dropUnused(now);
    const place = this.#free.pop() ?? this.#used++;
    if (place >= this.#sent.length) this.#grow();
    this.#sent[place] = this.#sequence;
    this.#accepted[place] = this.#dropped;
    this.#failed[place] = 0;
    this.#places.set(copyText(topic), place);
    return place;
  }

  /**
   * The next message on a dropped topic names the last message of all dropped topics as the previous one. So a subscriber
   * since before that message is told of a gap: it cannot be excluded.
   */
  #dropUnused(now: number): void {
    if (this.#places.size < KEPT_TOPICS) return;
    for (let examined = 0; examined < EXAMINED; examined++) {
      // One iterator for all calls: a search from the start would pass all that was dropped before.
      let next = this.#examined.next();
      if (next.done) {
        this.#examined = this.#places.entries();
        next = this.#examined.next();
      }
      if (next.done) return;
      const [topic, place] = next.value;
      const last = this.#sent[place] ?? 0;
      if (now - timeOf(last) < DROP_AFTER_MS) continue;
      this.#places.delete(topic);
      this.#free.push(place);
      this.#dropped = Math.max(this.#dropped, last);
    }
  }

  #grow(): void {
    this.#sent = grown(this.#sent);
    this.#accepted = grown(this.#accepted);
    this.#failed = grown(this.#failed);
  }
}

function grown(column: Float64Array<ArrayBuffer>): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(column.length * 2);
  larger.set(column);
  return larger;
}

/** The number of an empty slot; publishers are numbered from 1. */
const EMPTY = 0;
/** Shared by topics without messages; never written to. */
const NONE: number[] = [];

/**
 * The last message received from each publisher of one topic: a hash table in one array of numbers, pairs of publisher and
 * sequence. A table costs 20 to 45 bytes per publisher.
 */
export class ReceivedPositions {
  #table: number[] = NONE;
  #size = 0;

  /**
   * Records a message. `repeated`: it was received before. `gap`: messages before it are missing. `first`: there is no
   * earlier message of this publisher to compare with.
   */
  receive(publisher: number, sequence: number, previous: number): "first" | "next" | "gap" | "repeated" {
    const at = find(this.#table, publisher);
    if (at === -1 || this.#table[at] === EMPTY) {
      this.#add(publisher, sequence);
      return "first";
    }
    const last = this.#table[at + 1] ?? 0;
    if (sequence <= last) return "repeated";
    this.#table[at + 1] = sequence;
    return last < previous ? "gap" : "next";
  }

  /** Removes the positions of these publishers. */
  remove(publishers: ReadonlySet<number>): void {
    const table = this.#table;
    for (let at = 0; at < table.length; at += 2) {
      if (!publishers.has(table[at] ?? EMPTY)) continue;
      this.#rebuild(publishers);
      return;
    }
  }

  get size(): number {
    return this.#size;
  }

  #add(publisher: number, sequence: number): void {
    // At most three quarters full, so that a search ends soon.
    if ((this.#size + 1) * 8 > this.#table.length * 3) this.#rebuild();
    put(this.#table, publisher, sequence);
    this.#size++;
  }

  /** Makes room for one publisher more, without these. */
  #rebuild(without?: ReadonlySet<number>): void {
    const before = this.#table;
    const kept: number[] = [];
    for (let at = 0; at < before.length; at += 2) {
      const publisher = before[at] ?? EMPTY;
      if (publisher !== EMPTY && !without?.has(publisher)) kept.push(publisher, before[at + 1] ?? 0);
    }
    this.#size = kept.length / 2;
    let capacity = 2;
    while ((this.#size + 1) * 4 > capacity * 3) capacity *= 2;
    const table = new Array<number>(capacity * 2).fill(EMPTY);
    for (let at = 0; at < kept.length; at += 2) put(table, kept[at] ?? EMPTY, kept[at + 1] ?? 0);
    this.#table = table;
  }
}

/** The index of the publisher, or of the empty slot where it belongs; -1 in a table without slots. */
function find(table: readonly number[], publisher: number): number {
  const mask = table.length - 1;
  for (let at = (publisher * 2) & mask; mask > 0; at = (at + 2) & mask) {
    const found = table[at];
    if (found === publisher || found === EMPTY) return at;
  }
  return -1;
}

function put(table: number[], publisher: number, sequence: number): void {
  const at = find(table, publisher);
  table[at] = publisher;
  table[at + 1] = sequence;
}
