/** Whether the source answers: while it does not, one caller at a time tries it, and the others are told at once. */
import { BadSnapshot, LoadFailure } from "./bad-snapshot.ts";

export interface Outage {
  /** Runs `work`, unless the source has just failed; `force`: even then. */
  attempt<Result>(work: () => Promise<Result>, options: { force: boolean }): Promise<Result>;
  /** What is wrong, while something is. */
  message(): string | undefined;
}

/** How long the source is left alone after a failure. */
const RETRY_MS = 250;
/** Whoever tries has failed by then, or was ended in the middle, as a request may be on Workers. */
const MAX_TRY_MS = 10_000;

export function createOutage({
  warn,
  monotonicMs,
}: {
  readonly warn: (message: string, error: unknown) => void;
  readonly monotonicMs: () => number;
}): Outage {
  let failure: { readonly error: unknown; readonly atMs: number } | undefined;
  let triedUntilMs = Number.NEGATIVE_INFINITY;

  async function run<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      const result = await work();
      failure = undefined;
      return result;
    } catch (error) {
      // The source has answered; what it answered is another matter, and one tenant's.
      if (error instanceof BadSnapshot || error instanceof LoadFailure) failure = undefined;
      else {
        if (failure === undefined) {
          warn("The flags cannot be read; the last good ones go on being used until they can.", error);
        }
        failure = { error, atMs: monotonicMs() };
      }
      throw error;
    }
  }

  return {
    async attempt(work, { force }) {
      if (failure === undefined || force) return run(work);
      const nowMs = monotonicMs();
      if (nowMs < triedUntilMs || nowMs - failure.atMs < RETRY_MS) throw failure.error;
      triedUntilMs = nowMs + MAX_TRY_MS;
      try {
        return await run(work);
      } finally {
        triedUntilMs = Number.NEGATIVE_INFINITY;
      }
    },
    message: () => (failure === undefined ? undefined : "The flags cannot be read from the database."),
  };
}
