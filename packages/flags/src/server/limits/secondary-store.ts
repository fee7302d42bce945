/** A rate limit store on Better Auth's secondary storage. The storage can only increment by one, so the store counts blocks. */
import type { SecondaryStorage } from "@better-auth/core/db";
import type { RateLimitStore } from "./store.ts";

const PREFIX = "feature-flags:limit:";
/** How often, and at which interval, the store reads the end of a window that another process has just started. */
const MAX_READS = 3;
const READ_INTERVAL_MS = 10;

type Storage = Pick<SecondaryStorage, "get" | "set" | "increment">;

/** The storage cannot return the remaining time of a counter, so the process that starts a window stores its end. */
export function createSecondaryStore(storage: Storage, wallMs: () => number = Date.now): RateLimitStore {
  /** Undefined if the end is not stored yet, or belongs to the previous window. */
  async function leftMs(end: string, nowMs: number, windowMs: number): Promise<number | undefined> {
    const left = Number(await storage.get(end)) - nowMs;
    return left > 0 && left <= windowMs ? left : undefined;
  }

  return {
    async take(bucket, tokens, { max, windowSeconds, blockSize }) {
      const counter = `${PREFIX}${bucket}`;
      // A prefix, because a suffix could be part of another bucket's name.
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
      for (let reads = 1; reads < MAX_READS && resetMs === undefined && granted > 0; reads++) {
        await new Promise((resolve) => setTimeout(resolve, READ_INTERVAL_MS));
        resetMs = await leftMs(end, nowMs, windowMs);
      }
      return { granted, resetMs };
    },
  };
}
