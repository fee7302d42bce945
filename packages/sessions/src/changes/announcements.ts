/** Announces the changes of this process to others, and applies theirs. */
import { type Bus, packMessages, pause, RETRY_MS, systemClock, within } from "@halyard/base";
import { MAX_ID_LENGTH } from "../identify/organizations.ts";
import type { ChangeFeed } from "./change-feed.ts";
import type { IdentityChange } from "./identity-change.ts";
import { sessionPrint } from "./session-print.ts";

/** In characters, of a message that is read. */
const MAX_MESSAGE_LENGTH = 6000;
/** After this time, the change is reported, and others are told later that they have missed something. */
const MAX_TRIES_MS = 10_000;
/** A message that is not older than this tells that the bus delivers. */
const HEARD_MS = 1000;
/** How long a message to oneself may take. */
const ECHO_MS = 250;
const KINDS: ReadonlySet<unknown> = new Set([
  "session-print",
  "session-id",
  "user",
  "member",
  "organization",
]);

/** Returns a function that stops. `report` is called when other processes cannot be told. */
export function connectFeed(feed: ChangeFeed, bus: Bus, report: (error: unknown) => void): () => void {
  const from = crypto.randomUUID();
  let waiting = new Map<string, IdentityChange>();
  let isSending = false;
  let isStopped = false;
  /** Monotonic time of the last message. */
  let heardAtMs = Number.NEGATIVE_INFINITY;
  /** Monotonic time of the first message after the last gap. */
  let unbrokenSinceMs: number | undefined;
  let onHeard: () => void = () => undefined;

  const announce = (change: IdentityChange): void => {
    const announced = toAnnounced(change);
    waiting.set(JSON.stringify(announced), announced);
    if (!isSending) void send();
  };

  async function send(): Promise<void> {
    isSending = true;
    // The changes of one write go out in one message.
    await undefined;
    while (waiting.size > 0 && !isStopped) {
      const changes = [...waiting.values()];
      waiting = new Map();
      const toText = (some: readonly IdentityChange[]) => JSON.stringify({ from, changes: some });
      for (const message of packMessages(changes, toText)) await publish(message);
    }
    isSending = false;
  }

  async function publish(message: string): Promise<void> {
    const stopAtMs = performance.now() + MAX_TRIES_MS;
    for (;;) {
      try {
        return await bus.publish(message);
      } catch (error) {
        if (isStopped) return;
        if (performance.now() >= stopAtMs) {
          waiting.set("unknown", { kind: "unknown" });
          return report(error);
        }
        await pause(systemClock, RETRY_MS);
      }
    }
  }

  /** While no process announces anything, a message to oneself tells whether the bus delivers. */
  async function unbroken(): Promise<number | undefined> {
    if (performance.now() - heardAtMs > HEARD_MS) {
      const heard = new Promise<void>((resolve) => {
        onHeard = resolve;
      });
      bus.publish(JSON.stringify({ from, changes: [] })).catch(() => undefined);
      await within(heard, ECHO_MS, "").catch(() => {
        unbrokenSinceMs = undefined;
      });
    }
    return unbrokenSinceMs;
  }

  const stop = bus.subscribe({
    received(message) {
      heardAtMs = performance.now();
      unbrokenSinceMs ??= heardAtMs;
      onHeard();
      for (const change of parseMessage(message, from)) feed.receive(change);
    },
    missed() {
      heardAtMs = Number.NEGATIVE_INFINITY;
      unbrokenSinceMs = undefined;
      feed.receive({ kind: "unknown" });
    },
    lost() {
      heardAtMs = Number.NEGATIVE_INFINITY;
      unbrokenSinceMs = undefined;
    },
  });
  feed.announcers.add(announce);
  feed.links.add(unbroken);
  return () => {
    isStopped = true;
    feed.announcers.delete(announce);
    feed.links.delete(unbroken);
    stop();
  };
}

/** A token must not leave the process, and a message has room for one change at least. */
function toAnnounced(change: IdentityChange): IdentityChange {
  if (change.kind === "unknown") return change;
  if (change.kind === "session") return { kind: "session-print", id: sessionPrint(change.id) };
  return change.id.length > MAX_ID_LENGTH ? { kind: "unknown" } : change;
}

/** Checks every field, because any process with access to the bus can publish. */
function parseMessage(message: string, own: string): IdentityChange[] {
  if (message.length > MAX_MESSAGE_LENGTH) return [];
  const parsed = parseJson(message);
  if (typeof parsed !== "object" || parsed === null || !("from" in parsed) || !("changes" in parsed))
    return [];
  if (parsed.from === own || !Array.isArray(parsed.changes)) return [];
  return parsed.changes.filter(isAnnounced);
}

function isAnnounced(change: unknown): change is IdentityChange {
  if (typeof change !== "object" || change === null || !("kind" in change)) return false;
  if (change.kind === "unknown") return true;
  if (!KINDS.has(change.kind) || !("id" in change) || typeof change.id !== "string") return false;
  return change.id.length <= MAX_ID_LENGTH;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
