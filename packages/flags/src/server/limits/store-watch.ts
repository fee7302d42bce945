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

export interface StoreWatch {
  /** Undefined if the store failed or timed out; tokens it grants later are lost. Never rejects. */
  take(bucket: string, tokens: number, window: RateLimitWindow): Promise<RateLimitGrant | undefined>;
  readonly isDown: boolean;
  /** True once per retry interval while the store is down. */
  isTimeToTry(): boolean;
}

export function createStoreWatch({ store, maxWaitMs, monotonicMs, warn }: StoreWatchOptions): StoreWatch {
  let isDown = false;
  let nextTryAtMs = 0;

  function fail(error: unknown): undefined {
    nextTryAtMs = monotonicMs() + RETRY_MS;
    if (isDown) return;
    isDown = true;
    warn(
      "The rate limit store does not respond. Until it does, this process counts alone, up to the full limits. Check the store.",
      error,
    );
  }

  return {
    async take(bucket, tokens, window) {
      try {
        const taking = store.take(bucket, tokens, window);
        const grant = await within(taking, maxWaitMs, `No response within ${maxWaitMs} ms.`);
        const { granted, resetMs = 0 } = grant;
        if (!(granted >= 0))
          throw new TypeError(`The rate limit store granted ${granted} tokens. It must grant 0 or more.`);
        if (!(resetMs >= 0))
          throw new TypeError(`The rate limit store returned resetMs ${resetMs}. It must be 0 or more.`);
        isDown = false;
        return grant;
      } catch (error) {
        return fail(error);
      }
    },
    get isDown() {
      return isDown;
    },
    isTimeToTry() {
      const nowMs = monotonicMs();
      if (!isDown || nowMs < nextTryAtMs) return false;
      nextTryAtMs = nowMs + RETRY_MS;
      return true;
    },
  };
}
