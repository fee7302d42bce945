/** Results of the host's `compute`, kept per user and organization. */

import { within } from "@halyard/base";
import type { JsonObject } from "../../engine/json.ts";
import type { TrustedComputeInput, TrustedOptions } from "../../model/trusted.ts";
import type { ComputeOutcome } from "../metrics/meter.ts";
import { computedObject } from "./row-values.ts";

/** `null`: there is no result that may still be used. */
export type Computed = JsonObject | null;

export interface ComputedOptions {
  readonly compute: NonNullable<TrustedOptions["compute"]>;
  readonly ttlMs: number;
  /** Called once for each call of `compute`, with the error if it failed. */
  readonly onCompute: (outcome: ComputeOutcome, error?: unknown) => void;
  /** Whether a request must not wait for work that another request has started. */
  readonly isIsolated: boolean;
  readonly monotonicMs?: (() => number) | undefined;
  readonly maxResults?: number | undefined;
}

/** How long a request waits for a result. */
const TIMEOUT_MS = 1000;
/** How long the last result is used after its time, while `compute` fails. */
const MAX_STALE_MS = 10 * 60_000;
/** Minimum interval between two calls for the same user and organization while they fail. */
const RETRY_MS = 1000;
/** A call that has not settled after this time is given up. Until then it is not repeated. */
const ABANDON_MS = 10_000;
/** From this share of `ttlMs` on, a result in use is computed again in the background. */
const REFRESH_SHARE = 0.75;
const MAX_RESULTS = 10_000;

class Result {
  value: JsonObject | undefined;
  /** When the call began that gave `value`, by the monotonic clock. */
  computedAtMs = Number.NEGATIVE_INFINITY;
  failedAtMs = Number.NEGATIVE_INFINITY;
  startedAtMs = Number.NEGATIVE_INFINITY;
  /** The call under way. */
  running: Promise<void> | undefined;
}

export class ComputedAttributes {
  /** The one used longest ago comes first. */
  readonly #results = new Map<string, Result>();
  readonly #options: ComputedOptions;
  readonly #monotonicMs: () => number;

  constructor(options: ComputedOptions) {
    this.#options = options;
    this.#monotonicMs = options.monotonicMs ?? (() => performance.now());
  }

  get size(): number {
    return this.#results.size;
  }

  /** Synchronous while the last result may be used. Never rejects. `input` is called when `compute` must be. */
  get(key: string, input: () => Promise<TrustedComputeInput>): Computed | Promise<Computed> {
    const now = this.#monotonicMs();
    const { ttlMs, isIsolated } = this.#options;
    const result = this.#resultOf(key);
    const age = now - result.computedAtMs;
    const mayStart = now - result.failedAtMs >= RETRY_MS && (isIsolated || !isRunning(result, now));
    if (age < ttlMs && result.value !== undefined) {
      if (age >= ttlMs * REFRESH_SHARE && mayStart && !isIsolated) void this.#start(result, input, now);
      return result.value;
    }
    if (mayStart) return this.#start(result, input, now).then(() => this.#usable(result));
    // The first request that waits for a call waits for its whole deadline; later ones for what is left of it.
    const left = result.startedAtMs + TIMEOUT_MS - now;
    if (result.running === undefined || left <= 0 || isIsolated) return this.#usable(result);
    return withinOrNothing(result.running, left).then(() => this.#usable(result));
  }

  #resultOf(key: string): Result {
    const existing = this.#results.get(key);
    const result = existing ?? new Result();
    if (existing !== undefined) this.#results.delete(key);
    this.#results.set(key, result);
    const { maxResults = MAX_RESULTS } = this.#options;
    // Not at every request: to find the first entry, a map passes over those that were deleted before it.
    if (this.#results.size <= maxResults) return result;
    for (const oldest of this.#results.keys()) {
      this.#results.delete(oldest);
      break;
    }
    return result;
  }

  /** Settles when the result is there, or at the deadline. A result that comes later counts for later requests. */
  async #start(
    result: Result,
    input: () => Promise<TrustedComputeInput>,
    startedAtMs: number,
  ): Promise<void> {
    const calling = this.#call(input);
    result.startedAtMs = startedAtMs;
    let isSettled = false;
    const settle = (): void => {
      isSettled = true;
      if (result.running === running) result.running = undefined;
    };
    const running: Promise<void> = calling.then((value) => {
      result.value = value;
      result.computedAtMs = startedAtMs;
      result.failedAtMs = Number.NEGATIVE_INFINITY;
      settle();
    }, settle);
    result.running = running;
    try {
      const message = `trusted.compute did not return within ${TIMEOUT_MS} ms.`;
      await within(calling, TIMEOUT_MS, message);
      this.#options.onCompute("computed");
    } catch (error) {
      result.failedAtMs = this.#monotonicMs();
      this.#options.onCompute(isSettled ? "failed" : "timeout", error);
    }
  }

  async #call(input: () => Promise<TrustedComputeInput>): Promise<JsonObject> {
    const given = await input();
    // Neither the user nor the organization exists, so there is nothing to compute from.
    if (given.user === undefined && given.organization === undefined) return {};
    const value = computedObject(await this.#options.compute(given));
    if (value === undefined) {
      throw new TypeError(
        "trusted.compute must return an object whose values are JSON, such as { seats: 12 }.",
      );
    }
    return value;
  }

  #usable({ value, computedAtMs }: Result): Computed {
    const maxAgeMs = this.#options.ttlMs + MAX_STALE_MS;
    return value === undefined || this.#monotonicMs() - computedAtMs > maxAgeMs ? null : value;
  }
}

function isRunning({ running, startedAtMs }: Result, now: number): boolean {
  return running !== undefined && now - startedAtMs < ABANDON_MS;
}

function withinOrNothing(work: Promise<void>, timeoutMs: number): Promise<void> {
  return within(work, timeoutMs, "").catch(() => undefined);
}
