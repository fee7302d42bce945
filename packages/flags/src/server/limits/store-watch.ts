/** Calls the shared store with a timeout, and tracks whether the store is down. */
import { within } from "@halyard/base";
import type { RateLimitGrant, RateLimitStore, RateLimitWindow } from "./store.ts";

/** Interval between attempts while the store is down, in ms. */
const RETRY_MS = 1000;

export interface StoreWatchOptions {
  readonly store: RateLimitStore;
  readonly maxWaitMs: number;
  readonly monotonicMs: () => number;
  readonly warn: (message: string, error: unknown) => void;
}

export class StoreWatch {
  readonly #options: StoreWatchOptions;
  #isDown = false;
  #nextTryAtMs = 0;

  constructor(options: StoreWatchOptions) {
    this.#options = options;
  }

  get isDown(): boolean {
    return this.#isDown;
  }

  /** Undefined if the store failed or timed out; tokens it grants later are lost. Never rejects. */
  async take(bucket: string, tokens: number, window: RateLimitWindow): Promise<RateLimitGrant | undefined> {
    const { store, maxWaitMs } = this.#options;
    try {
      const taking = store.take(bucket, tokens, window);
      const grant = await within(taking, maxWaitMs, `No response within ${maxWaitMs} ms.`);
      const { granted, resetMs = 0 } = grant;
      if (!(granted >= 0))
        throw new TypeError(`The rate limit store granted ${granted} tokens. It must grant 0 or more.`);
      if (!(resetMs >= 0))
        throw new TypeError(`The rate limit store returned resetMs ${resetMs}. It must be 0 or more.`);
      this.#isDown = false;
      return grant;
    } catch (error) {
      this.#fail(error);
      return undefined;
    }
  }

  /** True once per retry interval while the store is down. */
  isTimeToTry(): boolean {
    const nowMs = this.#options.monotonicMs();
    if (!this.#isDown || nowMs < this.#nextTryAtMs) return false;
    this.#nextTryAtMs = nowMs + RETRY_MS;
    return true;
  }

  #fail(error: unknown): void {
    this.#nextTryAtMs = this.#options.monotonicMs() + RETRY_MS;
    if (this.#isDown) return;
    this.#isDown = true;
    this.#options.warn(
      "The rate limit store does not respond. Until it does, this process counts alone, up to the full limits. Check the store.",
      error,
    );
  }
}
