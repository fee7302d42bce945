/**
 * Reconciles what this process holds with the store, every few seconds, so that a change that no process announced is found
 * too.
 */
import { later } from "@halyard/base";
import type { LiveSession } from "./live-session.ts";
import type { LiveSessions } from "./live-sessions.ts";
import { COMPARISON_MS } from "./session-watch.ts";

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

/** A session that no listener follows any more is kept for a connection that is being opened. */
const UNUSED_MS = 30_000;

export function createReconciliation({
  sessions,
  report,
  intervalMs = COMPARISON_MS,
}: ReconciliationOptions): Reconciliation {
  const { rows } = sessions;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isRunning = false;
  let nextByValue = sessions.all();

  /** Resolves when the changed sessions are marked. They are read later: with many of them, that may take several rounds. */
  async function compare(): Promise<void> {
    const followed = dropUnused();
    const { comparison } = rows;
    if (comparison === undefined || followed.length <= comparison.minByValue) rows.mark(followed);
    else {
      const marked = new Set(await rows.compare(followed));
      const share = Math.ceil((followed.length * intervalMs) / comparison.byValueMs);
      const byValue = takeByValue(Math.max(comparison.minByValue, share));
      rows.mark(byValue.filter((live) => !marked.has(live)));
    }
    rows.mark(sessions.takeExpired(Date.now()));
  }

  /** Returns the sessions with listeners. */
  function dropUnused(): LiveSession[] {
    const nowMs = performance.now();
    const followed: LiveSession[] = [];
    for (const live of sessions.all()) {
      if (live.listeners.length > 0) followed.push(live);
      else if (nowMs - live.usedAtMs >= UNUSED_MS && live.waiters === undefined) sessions.drop(live);
    }
    return followed;
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
      if (value.listeners.length > 0) taken.push(value);
    }
    return taken;
  }

  async function round(): Promise<void> {
    const startedAtMs = performance.now();
    // The next round tries again; sessions keep their last state while the store does not respond.
    await compare().catch(report);
    if (sessions.size === 0) isRunning = false;
    else schedule(Math.max(0, startedAtMs + intervalMs - performance.now()));
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
