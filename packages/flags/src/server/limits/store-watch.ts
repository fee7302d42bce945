/** Calls the shared store with a timeout, and tracks whether the store is down. */
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
        const grant = await within(maxWaitMs, () => store.take(bucket, tokens, window));
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

function within<Result>(timeoutMs: number, call: () => Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(new Error(`No response within ${timeoutMs} ms.`));
    // A busy process runs overdue timers before responses that have arrived, so a second timer lets these go first.
    let timer = unref(
      setTimeout(() => {
        timer = unref(setTimeout(giveUp, 1));
      }, timeoutMs),
    );
    call()
      .then(resolve, reject)
      .finally(() => clearTimeout(timer));
  });
}

type Timer = ReturnType<typeof setTimeout>;

/** Lets the process exit while the store is called. Not every platform's timers have `unref`. */
function unref(timer: Timer): Timer {
  if (typeof timer === "object" && "unref" in timer) timer.unref();
  return timer;
}
