/** Streams at size: order, completeness, and the memory of a sender whose reader has stopped. */
import { isFullSize, sized } from "@halyard/services";
import { afterEach, describe, expect, test } from "vitest";
import { type ServerHandle, serve } from "../src/adapters/node.ts";
import { type WsClient, wsClient } from "../src/client/index.ts";
import { createRouter, rpc, z } from "../src/zod.ts";

const ITEMS = sized(1_000_000, 20_000);
const CALLS = sized(200, 20);
const PAD_BYTES = 10_000;
/** Parts of a long stream, of which each has its smallest heap. */
const PARTS = 10;
const MAX_GROWTH_BYTES = 16_000_000;

const Rows = rpc(
  "ROWS",
  { n: z.number(), pad: z.number() },
  "ROWS_END",
  { sent: z.number() },
  { progress: z.object({ i: z.number(), pad: z.string() }) },
);

let sent = 0;
const router = createRouter().rpc(Rows, async (ctx) => {
  const { n, pad } = ctx.payload;
  for (let i = 0; i < n; i++) {
    await ctx.progress({ i, pad: "x".repeat(pad) });
    sent++;
  }
  return { sent: n };
});

const open: (WsClient | ServerHandle)[] = [];
afterEach(async () => {
  for (const end of open.splice(0).reverse()) await ("stop" in end ? end.stop() : end.close());
});

async function connect(): Promise<WsClient> {
  const server = await serve(router, { port: 0, host: "127.0.0.1", handleSignals: false });
  const client = wsClient({ url: `ws://127.0.0.1:${server.port}` });
  open.push(server, client);
  await client.connect();
  return client;
}

describe("a stream", () => {
  test(`delivers ${ITEMS} items in order, none twice, and its memory does not grow`, {
    timeout: 300_000,
  }, async () => {
    const call = (await connect()).request(Rows, { n: ITEMS, pad: 0 });
    const heaps = Array<number>(PARTS).fill(Number.POSITIVE_INFINITY);
    let next = 0;
    for await (const { i } of call) {
      if (i !== next) expect(i).toBe(next);
      if (next % 1_000 === 0) {
        const part = Math.floor((next / ITEMS) * PARTS);
        heaps[part] = Math.min(heaps[part] ?? 0, process.memoryUsage().heapUsed);
      }
      next++;
    }
    expect([next, (await call).payload.sent]).toEqual([ITEMS, ITEMS]);
    // Fewer items see no garbage collection. The first part includes what is loaded and compiled.
    if (isFullSize) expect((heaps.at(-1) ?? 0) - (heaps[1] ?? 0)).toBeLessThan(MAX_GROWTH_BYTES);
  });

  test(`is 64 items ahead of a reader that stops, in each of ${CALLS} calls at the same time`, async () => {
    const client = await connect();
    sent = 0;
    const calls = Array.from({ length: CALLS }, () => client.request(Rows, { n: 10_000, pad: PAD_BYTES }));
    const outcomes = calls.map((call) => call.catch(({ code }: { code: string }) => code));
    const iterators = calls.map((call) => call[Symbol.asyncIterator]());
    for (const iterator of iterators) await iterator.next();
    await expect.poll(() => sent, { timeout: 30_000 }).toBe(64 * CALLS);
    // Nothing more is sent while the reader has stopped.
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(sent).toBe(64 * CALLS);
    for (const iterator of iterators) await iterator.return?.();
    expect(new Set(await Promise.all(outcomes))).toEqual(new Set(["CANCELLED"]));
  });
});
