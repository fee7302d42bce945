/** The contract of every rate limit store. */
import type { RateLimitStore } from "@halyard/flags";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

export interface OpenStore {
  /** Two stores, as in two processes. */
  readonly stores: readonly [RateLimitStore, RateLimitStore];
  close(): Promise<void>;
}

let count = 0;
const newBucket = () => `evaluate:address:2001:db8::${++count}`;

export function describeRateLimitStore(name: string, open: () => Promise<OpenStore>): void {
  describe(`a rate limit store, ${name}`, () => {
    let opened: OpenStore;
    let one: RateLimitStore;
    let two: RateLimitStore;
    beforeAll(async () => {
      opened = await open();
      [one, two] = opened.stores;
    });
    afterAll(() => opened.close());

    const minute = { max: 100, windowSeconds: 60, blockSize: 10 };
    const sum = (grants: readonly { granted: number }[]) =>
      grants.reduce((total, { granted }) => total + granted, 0);

    test("grants requests of all processes until the limit is used up", async () => {
      const bucket = newBucket();
      expect((await one.take(bucket, 60, minute)).granted).toBe(60);
      expect((await two.take(bucket, 30, minute)).granted).toBe(30);
      expect((await one.take(bucket, 20, minute)).granted).toBe(10);
      expect((await two.take(bucket, 10, minute)).granted).toBe(0);
      expect((await one.take(newBucket(), 10, minute)).granted).toBe(10);
    });

    test("grants concurrent requests exactly the limit in total", async () => {
      for (const window of [
        minute,
        { max: 105, windowSeconds: 60, blockSize: 10 },
        { max: 20, windowSeconds: 60, blockSize: 1 },
      ]) {
        const bucket = newBucket();
        const takes = Array.from({ length: 200 }, (_, at) =>
          (at % 2 === 0 ? one : two).take(bucket, window.blockSize, window),
        );
        expect(sum(await Promise.all(takes))).toBe(window.max);
      }
    });

    test("returns the end of the window, and starts a new window after it", async () => {
      const bucket = newBucket();
      const short = { max: 5, windowSeconds: 1, blockSize: 1 };
      const startedAtMs = performance.now();
      const first = await one.take(bucket, 5, short);
      expect(first.granted).toBe(5);
      expect(first.resetMs).toBeGreaterThan(0);
      expect(first.resetMs).toBeLessThanOrEqual(1000);
      const granted = async () => (await two.take(bucket, 5, short)).granted;
      await expect.poll(granted, { timeout: 10_000, interval: 100 }).toBe(5);
      expect(performance.now() - startedAtMs).toBeGreaterThan(900);
    });

    test("does not extend a window when requests take from it", async () => {
      const bucket = newBucket();
      const first = await one.take(bucket, 10, minute);
      await expect
        .poll(async () => (await two.take(bucket, 10, minute)).resetMs, { timeout: 5000, interval: 20 })
        .toBeLessThan(first.resetMs ?? 0);
    });
  });
}
