/** Tracks an outage of the database: one caller at a time retries, and the others fail immediately. */
import { RETRY_MS } from "@halyard/base";
import { BadSnapshot, LoadFailure } from "./errors.ts";

export interface Outage {
  /** Runs `work`, or throws the last error during an outage. `force` always runs it. */
  attempt<Result>(work: () => Promise<Result>, options: { force: boolean }): Promise<Result>;
  /** The problem during an outage. */
  message(): string | undefined;
}

/**
 * The timeout of every read, and of an evaluation that waits for its first snapshot. After this time an attempt has failed,
 * or its request was ended, as on Workers.
 */
export const GIVE_UP_MS: number = 10_000;

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
      // The database answered. These errors concern one tenant.
      if (error instanceof BadSnapshot || error instanceof LoadFailure) failure = undefined;
      else {
        if (failure === undefined) {
          warn(
            "The flags cannot be read from the database. The last good snapshot is used until they can.",
            error,
          );
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
      triedUntilMs = nowMs + GIVE_UP_MS;
      try {
        return await run(work);
      } finally {
        triedUntilMs = Number.NEGATIVE_INFINITY;
      }
    },
    message: () => (failure === undefined ? undefined : "The flags cannot be read from the database."),
  };
}
