/**
 * The events of a room. Messages that arrive before the first handler of their type are held for it, with the gaps
 * between them, in the order of their arrival.
 */
import type { Gap } from "../protocol/control.ts";
import type { Envelope } from "../protocol/envelope.ts";
import type { AnyChannel } from "../schema/channel.ts";
import { MAX_HELD, MAX_HELD_CHARACTERS } from "./bounds.ts";
import type { Handlers } from "./inbox.ts";
import type { Listeners } from "./listeners.ts";

/** A message or a gap. */
interface Entry {
  /** Of a gap: the type whose messages did not fit; undefined if the room may have missed messages of any type. */
  readonly type?: string | undefined;
  readonly frame?: Envelope;
  /** Characters of the frame's text. */
  readonly size?: number;
  gap?: Gap;
  /** Whether a callback of the room received the gap. */
  isTold?: boolean;
}

export interface Held {
  /** Characters of the held messages. */
  readonly size: number;
  /** Passes the message to its handlers, after what is held; without a handler so far, holds it. */
  message(frame: Envelope, size: number): void;
  gap(gap: Gap): void;
  /** A handler or a gap callback was added: what waits for it follows in a microtask. */
  added(): void;
  clear(): void;
}

/** `mayHold` tells whether the client has room for this many characters. */
export function createHeld(
  { events }: AnyChannel,
  handlers: Handlers,
  gaps: Listeners<[gap: Gap]>,
  mayHold: (size: number) => boolean,
): Held {
  /** The types without a first handler, with their newest entry. */
  const waiting = new Map<string, Entry>(events.map(({ type }) => [type, {}]));
  let entries: Entry[] = [];
  let size = 0;
  /** Hand-overs that are due or under way. Until they end, all that arrives waits behind them. */
  let due = 0;

  function handOver(): void {
    const left: Entry[] = [];
    /** The last entry that was passed on. */
    let last: Entry | undefined;
    for (const type of waiting.keys()) if (handlers.get(type)?.size) waiting.delete(type);
    const current = entries;
    // Not a copy: messages may arrive meanwhile.
    for (const entry of current) {
      const { type, frame, gap } = entry;
      // Without a handler now: its handlers removed themselves meanwhile.
      if (type && (waiting.has(type) || !handlers.get(type)?.size)) {
        waiting.set(type, entry);
        left.push(entry);
      } else if (frame) {
        size -= entry.size ?? 0;
        last = entry;
        handlers.get(frame.type)?.emit(frame);
      } else if (gap) {
        // Announced again after held messages: their handlers have only now reached it.
        if ((last ? last.frame : !entry.isTold) && gaps.emit(gap)) last = entry;
        const isTold = entry.isTold || Boolean(last?.gap);
        if (!isTold || (!type && left.length)) left.push({ gap, isTold });
      }
    }
    if (entries === current) entries = left;
    due--;
  }

  return {
    get size() {
      return size;
    },
    message(frame, frameSize) {
      const { type } = frame;
      const newest = waiting.get(type);
      const listening = handlers.get(type);
      if (!newest && !(due && listening?.size)) return void listening?.emit(frame);
      const fits =
        !newest ||
        (entries.length < MAX_HELD && size + frameSize <= MAX_HELD_CHARACTERS && mayHold(frameSize));
      if (!fits && newest.gap) return;
      const entry: Entry = fits ? { type, frame, size: frameSize } : { type, gap: { reason: "shed" } };
      if (fits) size += frameSize;
      if (newest) waiting.set(type, entry);
      entries.push(entry);
    },
    gap(gap) {
      const isTold = !due && gaps.emit(gap);
      const last = entries.at(-1);
      if (last?.gap && !last.type) {
        last.gap = gap;
        last.isTold &&= isTold;
      } else if (last || !isTold) entries.push({ gap, isTold });
    },
    added() {
      due++;
      void Promise.resolve().then(handOver);
    },
    clear() {
      waiting.clear();
      // Also ends a hand-over.
      entries.length = size = 0;
      entries = [];
    },
  };
}
