/**
 * Reconciles what this process holds with the store, every few seconds, so that a change that no process announced is found
 * too.
 */
import { later } from "@halyard/base";
import type { LiveSession } from "./live-session.ts";
import type { LiveSessions } from "./live-sessions.ts";

export interface ReconciliationOptions {
  readonly sessions: LiveSessions;
  readonly report: (error: unknown) => void;
  readonly intervalMs?: number | undefined;
}

export interface Reconciliation {
  /** Starts the rounds, if they do not run. */
  start(): void;
  /** Compares now, and resolves when the changed sessions were read. */
  run(): Promise<void>;
  stop(): void;
}

/** With the time of a reading, a change is found within 5 s. */
const INTERVAL_MS = 4000;
/** The same while the store does not respond. */
const RETRY_DOWN_MS = 1000;

export function createReconciliation({
  sessions,
  report,
  intervalMs = INTERVAL_MS,
}: ReconciliationOptions): Reconciliation {
  const { rows } = sessions;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isRunning = false;
  let nextByValue = sessions.all();

  /** Resolves when the changed sessions are marked. They are read later: with many of them, that may take several rounds. */
  async function compare(): Promise<void> {
    const used = sessions.inUse();
    const { comparison } = rows;
    if (comparison === undefined || used.length <= comparison.minByValue) rows.mark(used);
    else {
      const marked = new Set(await rows.compare(used));
      const share = Math.ceil((used.length * intervalMs) / comparison.byValueMs);
      const byValue = takeByValue(Math.max(comparison.minByValue, share));
      rows.mark(byValue.filter((live) => !marked.has(live)));
    }
    rows.mark(sessions.takeExpired(Date.now()));
  }

  /** Sessions in turn: each is taken once before one is taken again. */
  function takeByValue(count: number): LiveSession[] {
    const taken: LiveSession[] = [];
    while (taken.length < count) {
      const { value, done } = nextByValue.next();
      if (done) {
        nextByValue = sessions.all();
        break;
      }
      taken.push(value);
    }
    return taken;
  }

  async function round(): Promise<void> {
    const startedAtMs = performance.now();
    // The next round tries again; sessions keep their last state while the store does not respond.
    await compare().catch(report);
    if (sessions.size === 0) isRunning = false;
    else {
      const waitMs = rows.isDown ? RETRY_DOWN_MS : intervalMs;
      schedule(Math.max(0, startedAtMs + waitMs - performance.now()));
    }
  }

  function schedule(delayMs: number): void {
    timer = later(() => void round(), delayMs);
  }

  return {
    async run() {
      await compare();
      await rows.settled();
    },
    start() {
      if (isRunning) return;
      isRunning = true;
      schedule(intervalMs);
    },
    stop() {
      clearTimeout(timer);
      isRunning = false;
    },
  };
}
