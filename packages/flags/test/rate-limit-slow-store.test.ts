/** Checks that processes share their limits through a store that is slow, with the default options. */
import type { RateLimitStore } from "@halyard/flags";
import { expect, test } from "vitest";
import { memoryHost } from "./memory-host.ts";

/** Takes longer than a store should, but responds. */
const DELAY_MS = 400;

function slowStore(): RateLimitStore {
  const used = new Map<string, number>();
  return {
    async take(bucket, tokens, { max }) {
      await new Promise((resolve) => setTimeout(resolve, DELAY_MS));
      const before = used.get(bucket) ?? 0;
      const granted = Math.min(tokens, max - before);
      used.set(bucket, before + granted);
      return { granted, resetMs: 60_000 };
    },
  };
}

test("several processes with a slow store permit the limit together, and no more", async () => {
  const store = slowStore();
  const messages: string[] = [];
  const start = () =>
    memoryHost({
      rateLimit: { enabled: true },
      flags: { rateLimit: { store } },
      log: (message) => messages.push(message),
    });
  const hosts = [await start(), await start(), await start()];
  const caller = { headers: { "x-forwarded-for": "203.0.113.9" } };
  const permitted = async (method: string, path: string, count: number, body?: object) => {
    const calls = hosts.flatMap((host) =>
      Array.from({ length: count }, () => host.call(method, path, { ...caller, body })),
    );
    return (await Promise.all(calls)).filter(({ status }) => status !== 429).length;
  };
  const evaluations = await permitted("POST", "/feature-flags/evaluate", 60, { flagKey: "x" });
  expect(evaluations).toBeLessThanOrEqual(100);
  // Each process may hold one block of tokens that it has not used.
  expect(evaluations).toBeGreaterThanOrEqual(70);
  expect(await permitted("GET", "/feature-flags/admin/flags", 10)).toBe(20);
  expect(messages.filter((message) => /rate limit store/.test(message))).toEqual([]);
});
