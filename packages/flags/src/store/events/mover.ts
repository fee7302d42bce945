/** Runs a move once before it is needed, again after a failure, and later for processes that run with the other setting. */
import { within } from "@halyard/base";
import { isMisunderstood } from "../postgres/pool.ts";
import { sleep } from "../wait.ts";

/** Moves rows into the tables that the event log uses, after the option `postgres` was switched on or off. */
export interface Move {
  /** Makes this log the one in use, and moves everything that requests and statistics depend on. */
  start(): Promise<void>;
  /** Whether no process with the other setting has started since. */
  isInUse(): Promise<boolean>;
  /** Moves the same again, for what other processes have stored since. */
  pending(): Promise<void>;
  /** Moves some events. Returns false if there are no more. */
  someEvents(): Promise<boolean>;
}

export interface Mover {
  /** Resolves when everything that was stored before has been moved. Never rejects. */
  done(): Promise<void>;
  /** Resolves when the events have been moved, too, or after 10 s. Never rejects. */
  eventsDone(): Promise<void>;
  /** Moves what processes with the other setting have stored since, and events. Never rejects. */
  again(): Promise<void>;
}

const FAILED =
  "Events that were stored before the option `postgres` was switched on or off cannot be moved now. Until they are, statistics lack them, and their idempotency keys count as new.";

/** Statistics of months of events do not wait for all of them. */
const EVENTS_WAIT_MS = 10_000;

export function createMover(move: Move | undefined, warn: (message: string, error: unknown) => void): Mover {
  let pending: Promise<void> | undefined;
  let movedEvents: Promise<void> | undefined;
  let isFailing = false;

  /** A table or column with a name of its own stays unknown. Any other failure may end. */
  function failed(error: unknown): void {
    if (!isMisunderstood(error)) pending = undefined;
    if (!isFailing) warn(FAILED, error);
    isFailing = true;
  }

  async function run(work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
      isFailing = false;
    } catch (error) {
      failed(error);
    }
  }

  function done(): Promise<void> {
    if (move === undefined) return Promise.resolve();
    pending ??= run(move.start);
    return pending;
  }

  async function moveEvents({ isInUse, someEvents }: Move): Promise<void> {
    await done();
    await run(async () => {
      if (!(await isInUse())) return;
      while (await someEvents()) await sleep(0);
    });
    if (isFailing) movedEvents = undefined;
  }

  return {
    done,
    async eventsDone() {
      if (move === undefined) return;
      movedEvents ??= moveEvents(move);
      await within(movedEvents, EVENTS_WAIT_MS, "The events are moved later.").catch(() => undefined);
    },
    async again() {
      if (move === undefined) return;
      await done();
      if (pending === undefined) return;
      await run(async () => {
        if (!(await move.isInUse())) return;
        await move.pending();
        while (await move.someEvents()) await sleep(0);
      });
    },
  };
}
