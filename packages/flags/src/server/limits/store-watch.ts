/** Asks the shared store, never for longer than a caller may wait, and knows when there is no use in asking. */
import type { RateLimitGrant, RateLimitStore, RateLimitWindow } from "./store.ts";

/** How often a store that failed is tried again; no call waits for that. */
const RETRY_MS = 1000;

export interface StoreWatchOptions {
  readonly store: RateLimitStore;
  readonly maxWaitMs: number;
  readonly monotonicMs: () => number;
  readonly warn: (message: string, error: unknown) => void;
}

export interface StoreWatch {
  /** Undefined: the store failed, or took too long, and what it may still grant is lost. Never rejects. */
  take(bucket: string, tokens: number, window: RateLimitWindow): Promise<RateLimitGrant | undefined>;
  readonly isDown: boolean;
  /** True once in a while as long as the store is down. */
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
      "The store of the rate limits does not answer. Until it does, this process counts by itself, up to the full limits.",
      error,
    );
  }

  return {
    async take(bucket, tokens, window) {
      try {
        const grant = await within(maxWaitMs, () => store.take(bucket, tokens, window));
        const { granted, resetMs = 0 } = grant;
        if (!(granted >= 0)) throw new TypeError(`It granted ${granted} tokens.`);
        if (!(resetMs >= 0)) throw new TypeError(`Its window ends in ${resetMs} ms.`);
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

function within<Result>(timeoutMs: number, ask: () => Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(new Error(`No answer within ${timeoutMs} ms.`));
    // A busy process sees its timers before the answers that have come meanwhile; they get their chance.
    let timer = unref(
      setTimeout(() => {
        timer = unref(setTimeout(giveUp, 1));
      }, timeoutMs),
    );
    ask()
      .then(resolve, reject)
      .finally(() => clearTimeout(timer));
  });
}

type Timer = ReturnType<typeof setTimeout>;

/** Nobody's exit waits for a store. Not every platform has timers that can be told so. */
function unref(timer: Timer): Timer {
  if (typeof timer === "object" && "unref" in timer) timer.unref();
  return timer;
}
