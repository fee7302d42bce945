import { describe, expect, test, vi } from "vitest";
import { createClient } from "../../src/client/client.ts";
import type { ClientOptions } from "../../src/client/options.ts";
import { rpc, z } from "../../src/zod.ts";
import { FakeWorld } from "./fake-world.ts";

const Rows = rpc(
  "ROWS",
  { n: z.number() },
  "ROWS_END",
  { sent: z.number() },
  { progress: z.object({ i: z.number() }) },
);
const Plain = rpc("PLAIN", undefined, "PLAIN_END", undefined);

function connected(options: Partial<ClientOptions> = {}) {
  const world = new FakeWorld();
  const client = createClient({ url: "ws://server/", ...options }, world);
  client.onError(() => undefined);
  void client.connect();
  world.socket.greet();
  const items = (from: number, to: number) => {
    for (let i = from; i < to; i++) world.socket.deliver("$ws:rpc-progress", { i }, { correlationId: "r" });
  };
  const end = () => world.socket.deliver("ROWS_END", { sent: 1 }, { correlationId: "r" });
  const sent = (type: string) => world.socket.sent.filter((frame) => frame.type === type);
  const credited = () =>
    sent("$ws:credit").reduce((sum, { payload }) => sum + (payload as { n: number }).n, 0);
  const request = (more: object = {}) => client.request(Rows, { n: 1 }, { correlationId: "r", ...more });
  return { world, client, items, end, sent, credited, request };
}

const outcomeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => "resolved",
    ({ code }: { code: string }) => code,
  );
const ticks = async (n = 20) => {
  for (let i = 0; i < n; i++) await Promise.resolve();
};

describe("a client with typed progress", () => {
  test("announces its credit and deadline in reserved meta, and does neither for other requests", () => {
    const { client, sent, request } = connected();
    void outcomeOf(request({ deadlineMs: 60_000 }));
    void outcomeOf(client.request(Plain));
    expect(sent("ROWS")[0]?.meta).toMatchObject({ $c: 64, $d: 60_000, timeoutMs: 30_000 });
    expect(Object.keys(sent("PLAIN")[0]?.meta ?? {}).sort()).toEqual([
      "correlationId",
      "timeoutMs",
      "timestamp",
    ]);
  });

  test("returns credit as the loop reads, and never for more than it has read", async () => {
    const { items, end, credited, request } = connected();
    const call = request();
    const iterator = call[Symbol.asyncIterator]();
    items(0, 64);
    expect(credited()).toBe(0);
    for (let i = 0; i < 31; i++) await iterator.next();
    expect(credited()).toBe(0);
    expect(await iterator.next()).toEqual({ done: false, value: { i: 31 } });
    expect(credited()).toBe(32);
    for (let i = 32; i < 64; i++) expect(await iterator.next()).toEqual({ done: false, value: { i } });
    expect(credited()).toBe(64);
    end();
    expect(await iterator.next()).toMatchObject({ done: true });
  });

  test("lets the slowest of several readers decide", async () => {
    const { items, credited, request } = connected();
    const call = request();
    void outcomeOf(call);
    const seen: number[] = [];
    call.onProgress(({ i }) => seen.push(i));
    const iterator = call[Symbol.asyncIterator]();
    items(0, 40);
    expect([seen.length, credited()]).toEqual([40, 0]);
    for (let i = 0; i < 40; i++) await iterator.next();
    expect(credited()).toBe(32);
  });

  test("discards items that the application does not read, and returns their credit", async () => {
    const { items, end, credited, request } = connected();
    const call = request();
    items(0, 500);
    end();
    expect(await outcomeOf(call)).toBe("resolved");
    expect(credited()).toBe(480);
  });

  test("counts silence for timeoutMs, but not while items wait for the loop", async () => {
    const { world, items, request } = connected();
    const call = request({ timeoutMs: 1_000 });
    const outcome = outcomeOf(call);
    const iterator = call[Symbol.asyncIterator]();
    world.advance(900);
    items(0, 2);
    world.advance(5_000);
    await iterator.next();
    world.advance(900);
    await iterator.next();
    world.advance(900);
    await ticks();
    items(2, 3);
    await iterator.next();
    world.advance(999);
    let isSettled = false;
    void outcome.then(() => {
      isSettled = true;
    });
    await ticks();
    expect(isSettled).toBe(false);
    world.advance(1_001);
    expect(await outcome).toBe("DEADLINE_EXCEEDED");
  });

  test("ends the whole call at deadlineMs, and tells the server", async () => {
    const { world, items, sent, request } = connected();
    const call = request({ timeoutMs: 1_000, deadlineMs: 2_500 });
    const outcome = outcomeOf(call);
    call.onProgress(() => undefined);
    for (let i = 0; i < 5; i++) {
      world.advance(500);
      items(i, i + 1);
    }
    world.advance(600);
    expect(await outcome).toBe("DEADLINE_EXCEEDED");
    expect(sent("$ws:abort")).toHaveLength(1);
  });

  test("rejects with INTERNAL and cancels when an item does not match its schema", async () => {
    const { world, sent, request } = connected();
    const call = request();
    const seen: unknown[] = [];
    call.onProgress((item) => seen.push(item));
    world.socket.deliver("$ws:rpc-progress", { i: "one" }, { correlationId: "r" });
    await expect(call).rejects.toThrow("The progress of ROWS does not match its schema.");
    expect([seen, sent("$ws:abort").length]).toEqual([[], 1]);
  });

  test('removes unknown keys of an item with unknownKeys: "strip"', async () => {
    const { world, end, request } = connected({ unknownKeys: "strip" });
    const call = request();
    const seen: unknown[] = [];
    call.onProgress((item) => seen.push(item));
    world.socket.deliver("$ws:rpc-progress", { i: 1, newer: true }, { correlationId: "r" });
    end();
    await call;
    expect(seen).toEqual([{ i: 1 }]);
  });

  test("rejects when the server sends more than twice its credit to a loop that does not read", async () => {
    const { items, request } = connected();
    const call = request();
    const outcome = outcomeOf(call);
    call[Symbol.asyncIterator]();
    items(0, 200);
    expect(await outcome).toBe("INTERNAL");
  });

  test("an error in a callback of onProgress stops neither the other callbacks nor the call", async () => {
    const { client, items, end, request } = connected();
    const errors = vi.fn();
    client.onError(errors);
    const call = request();
    const seen: number[] = [];
    call.onProgress(() => {
      throw new Error("in the callback");
    });
    call.onProgress(({ i }) => seen.push(i));
    items(0, 2);
    end();
    await call;
    expect([seen, errors.mock.calls.length]).toEqual([[0, 1], 2]);
  });
});
