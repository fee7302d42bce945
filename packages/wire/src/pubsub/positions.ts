/** Sequence numbers: given to what is published, and compared with what is heard, so that no hole stays unseen. */

interface Position {
  /** The last message handed to the transport. */
  sent: number;
  /** The last one the broker accepted. */
  accepted: number;
  /** When it was accepted, by the monotonic clock. */
  acceptedAt: number;
  /** The last one that may never have reached the broker. */
  failed: number;
}

interface Accepted {
  readonly topic: string;
  readonly accepted: number;
  readonly acceptedAt: number;
}

/** Topics whose last message is remembered; for the others a hole is found by other means or not at all. */
const MAX_TOPICS = 100_000;
const MAX_PUBLISHERS = 1_000;

/** What this process published. */
export class PublishedPositions {
  readonly #positions = new Map<string, Position>();
  #sequence = 0;

  /** The numbers of the next message on the topic. */
  next(topic: string): { readonly sequence: number; readonly previous: number } {
    const sequence = ++this.#sequence;
    const position = this.#positions.get(topic);
    if (position === undefined) {
      this.#makeRoom();
      this.#positions.set(topic, { sent: sequence, accepted: 0, acceptedAt: 0, failed: 0 });
      return { sequence, previous: 0 };
    }
    // Whether those in between were heard or not is nobody's loss: their publisher was told that they failed.
    const previous = position.sent > position.failed ? position.sent : position.accepted;
    position.sent = sequence;
    return { sequence, previous };
  }

  accepted(topic: string, sequence: number, now: number): void {
    const position = this.#positions.get(topic);
    if (position === undefined || sequence <= position.accepted) return;
    position.accepted = sequence;
    position.acceptedAt = now;
  }

  failed(topic: string, sequence: number): void {
    const position = this.#positions.get(topic);
    if (position !== undefined && sequence > position.failed) position.failed = sequence;
  }

  /** The message just numbered was never handed over: what comes next follows the one before it. */
  withdrawn(topic: string, previous: number): void {
    const position = this.#positions.get(topic);
    if (position !== undefined) position.sent = previous;
  }

  /** Topics on which something was accepted since, the last that was, and when. */
  *since(time: number): Iterable<Accepted> {
    for (const [topic, { accepted, acceptedAt }] of this.#positions) {
      if (accepted > 0 && acceptedAt >= time) yield { topic, accepted, acceptedAt };
    }
  }

  #makeRoom(): void {
    if (this.#positions.size < MAX_TOPICS) return;
    for (const oldest of this.#positions.keys()) {
      this.#positions.delete(oldest);
      return;
    }
  }
}

/** What was heard on one topic, by publisher. */
export class HeardPositions {
  #last = new Map<string, number>();

  /**
   * Takes note of a message; `repeated` ones came before, `hole` means that some did not come at all. Of a `first` one
   * nobody knows.
   */
  hear(publisher: string, sequence: number, previous: number): "first" | "next" | "hole" | "repeated" {
    const last = this.#last.get(publisher);
    if (last === undefined) {
      if (this.#last.size >= MAX_PUBLISHERS) this.#last.clear();
      this.#last.set(publisher, sequence);
      return "first";
    }
    if (sequence <= last) return "repeated";
    this.#last.set(publisher, sequence);
    return last < previous ? "hole" : "next";
  }

  /** What comes next is a new beginning. */
  clear(): void {
    this.#last.clear();
  }
}
