/** Counting in the secondary storage of Better Auth, which can add one and no more: so it counts blocks. */
import type { SecondaryStorage } from "@better-auth/core/db";
import type { RateLimitStore } from "./store.ts";

const PREFIX = "feature-flags:limit:";
/** How often, and how long apart, the end of a window is looked for that another process has only just begun. */
const LOOKS = 3;
const LOOK_AGAIN_MS = 10;

type Storage = Pick<SecondaryStorage, "get" | "set" | "increment">;

/** The counter itself cannot be asked how long it lives, so the process that began a window says when it ends. */
export function createSecondaryStore(storage: Storage, wallMs: () => number = Date.now): RateLimitStore {
  /** Undefined: not said yet, or only of the window before. */
  async function leftMs(end: string, nowMs: number, windowMs: number): Promise<number | undefined> {
    const left = Number(await storage.get(end)) - nowMs;
    return left > 0 && left <= windowMs ? left : undefined;
  }

  return {
    async take(bucket, tokens, { max, windowSeconds, blockSize }) {
      const counter = `${PREFIX}${bucket}`;
      // Before the bucket's name: after it, it would be the name of another bucket.
      const end = `${PREFIX}end:${bucket}`;
      const nowMs = wallMs();
      const windowMs = windowSeconds * 1000;
      const blocks = Array.from({ length: Math.ceil(tokens / blockSize) }, () =>
        storage.increment(counter, windowSeconds),
      );
      const numbers = (await Promise.all(blocks)).map(Number);
      const granted = numbers
        .map((nth) => Math.min(Math.max(max - (nth - 1) * blockSize, 0), blockSize))
        .reduce((sum, count) => sum + count, 0);
      if (numbers.includes(1)) {
        await storage.set(end, String(nowMs + windowMs), windowSeconds);
        return { granted, resetMs: windowMs };
      }
      let resetMs = await leftMs(end, nowMs, windowMs);
      for (let looks = 1; looks < LOOKS && resetMs === undefined && granted > 0; looks++) {
        await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS));
        resetMs = await leftMs(end, nowMs, windowMs);
      }
      return { granted, resetMs };
    },
  };
}
