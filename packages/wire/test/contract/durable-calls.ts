/** The contract of durable calls over every pub/sub with history: start, read, attach, cancel, and what is not kept. */
import { afterEach, describe, expect, test, vi } from "vitest";
import { type ServerHandle, serve } from "../../src/adapters/node.ts";
import { attachCall, type DurableCall, startCall, type WsClient, wsClient } from "../../src/client/index.ts";
import type { PubSub } from "../../src/index.ts";
import { createRouter, message, rpc, z } from "../../src/zod.ts";
import { startProxy } from "../fixtures/proxy.ts";

/** Two ends of one pub/sub, as two processes have them; the same object in one process. */
export interface CallBus {
  readonly near: PubSub;
  readonly far: PubSub;
  stop(): Promise<void>;
}

/** Signs the connection in as another user, or out. */
const Become = message("BECOME", { user: z.string().optional() });

const POLL = { timeout: 10_000, interval: 5 };
const upTo = (n: number) => Array.from({ length: n }, (_, i) => i);

/** What a test sees of one run of the handler. */
interface Run {
  sent: number;
  aborted: boolean;
  /** Lets the handler send this many more items. */
  let(items: number): void;
}

const declareAsk = (keepMs = 60_000) =>
  rpc(
    "ASK",
    { n: z.number() },
    "ASK_END",
    { sent: z.number() },
    { progress: z.object({ i: z.number() }), durable: { keepMs } },
  );
type Ask = ReturnType<typeof declareAsk>;

/** A server whose handler sends items only as far as the test lets it. */
async function office(pubsub: PubSub, Ask: Ask, maxRunningPerOwner?: number, slowConsumerTimeoutMs = 30_000) {
  const runs: Run[] = [];
  const errors: string[] = [];
  const router = createRouter<{ clientId: string; userId: string }>({ pubsub, slowConsumerTimeoutMs });
  router.on(Become, (ctx) => ctx.assignData({ userId: ctx.payload.user as string }));
  router.onError(({ code, message }) => void errors.push(`${code} ${message}`));
  router.rpc(
    Ask,
    { owner: (ctx) => ctx.data.userId.toLowerCase(), ...(maxRunningPerOwner && { maxRunningPerOwner }) },
    async (ctx) => {
      let allowed = 0;
      let wake = (): void => undefined;
      const run: Run = {
        sent: 0,
        aborted: false,
        let(items) {
          allowed += items;
          wake();
        },
      };
      runs.push(run);
      ctx.onCancel(() => {
        run.aborted = true;
        wake();
      });
      while (run.sent < ctx.payload.n && !run.aborted) {
        if (run.sent < allowed) {
          await ctx.progress({ i: run.sent });
          run.sent++;
        } else
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
      }
      return { sent: run.sent };
    },
  );
  const handle = await serve(router, {
    port: 0,
    host: "127.0.0.1",
    handleSignals: false,
    authenticate: (req) => ({
      userId: new URL(req.url, "http://server").searchParams.get("user") ?? "",
    }),
  });
  return { handle, runs, errors };
}

const read = async (call: AsyncIterable<{ i: number }>): Promise<number[]> => {
  const got: number[] = [];
  for await (const { i } of call) got.push(i);
  return got;
};
const outcomeOf = (call: DurableCall<Ask>): Promise<unknown> =>
  call.result.then(
    ({ payload }) => payload,
    ({ code }: { code: string }) => code,
  );

export function durableCallContract(name: string, open: () => Promise<CallBus>): void {
  describe(`durable calls over ${name}`, () => {
    const after: (() => unknown)[] = [];
    afterEach(async () => {
      for (const end of after.splice(0).reverse()) await end();
    });

    interface Setup {
      readonly keepMs?: number;
      readonly maxRunning?: number;
      readonly slowMs?: number;
    }
    async function setup({ keepMs = 60_000, maxRunning, slowMs }: Setup = {}) {
      const Ask = declareAsk(keepMs);
      const bus = await open();
      after.push(() => bus.stop());
      const [near, far] = [
        await office(bus.near, Ask, maxRunning, slowMs),
        await office(bus.far, Ask, maxRunning, slowMs),
      ];
      after.push(() => Promise.all([near.handle.stop(), far.handle.stop()]));
      const connect = async (user: string, { port }: { port: number }): Promise<WsClient> => {
        const client = wsClient({
          url: `ws://127.0.0.1:${port}/?user=${user}`,
          reconnect: { initialDelayMs: 10, maxDelayMs: 50 },
        });
        client.onError(() => undefined);
        after.push(() => client.close());
        await client.connect();
        return client;
      };
      const as = (user: string, end: { handle: ServerHandle } = near) => connect(user, end.handle);
      const started = async (items: number, n = 10, user = "ann") => {
        const client = await as(user);
        const call = startCall(client, Ask, { n });
        call.result.catch(() => undefined);
        await vi.waitUntil(() => near.runs.length > 0, POLL);
        const run = near.runs.at(-1) as Run;
        run.let(items);
        await vi.waitUntil(() => run.sent === items, POLL);
        return { client, call, run };
      };
      return { Ask, near, far, as, connect, started };
    }

    test("give an id at once, all items in order, and the whole response message", async () => {
      const { Ask, near, as } = await setup();
      const call = startCall(await as("ann"), Ask, { n: 200 });
      expect(call.id).toMatch(/^[\w-]{36}$/);
      const items = read(call);
      await vi.waitUntil(() => near.runs.length === 1, POLL);
      near.runs[0]?.let(200);
      expect(await items).toEqual(upTo(200));
      expect(await call.result).toMatchObject({ type: "ASK_END", payload: { sent: 200 } });
    });

    test("go on when their client closes, and another process serves all of them to the same owner", async () => {
      const { Ask, far, as, started } = await setup();
      const { client, call, run } = await started(4);
      await client.close();
      const phone = attachCall(await as("ann", far), Ask, call.id);
      const items = read(phone);
      run.let(6);
      expect(await items).toEqual(upTo(10));
      expect(await outcomeOf(phone)).toEqual({ sent: 10 });
      expect(run.aborted).toBe(false);
    });

    test("give every reader the same sequence and the same end, whenever it begins", async () => {
      const { Ask, near, far, as, started } = await setup();
      const { client, call, run } = await started(3);
      const [early, remote] = [
        attachCall(client, Ask, call.id),
        attachCall(await as("ann", far), Ask, call.id),
      ];
      const reading = [read(early), read(remote), read(call)];
      run.let(7);
      const late = attachCall(await as("ann", near), Ask, call.id);
      expect(await Promise.all([...reading, read(late)])).toEqual(Array(4).fill(upTo(10)));
      expect(await Promise.all([early, remote, call, late].map(outcomeOf))).toEqual(
        Array(4).fill({ sent: 10 }),
      );
    });

    test("survive a loss of the connection: the same loop continues where it was", async () => {
      const { Ask, near, connect } = await setup();
      const proxy = await startProxy(near.handle.port);
      after.push(() => proxy.stop());
      const client = await connect("ann", proxy);
      const call = startCall(client, Ask, { n: 30 });
      const got: number[] = [];
      for await (const { i } of { [Symbol.asyncIterator]: () => whenStarted(call) }) {
        got.push(i);
        if (i % 10 === 4) {
          proxy.cut();
          proxy.mend();
        }
      }
      expect(got).toEqual(upTo(30));
      expect(await outcomeOf(call)).toEqual({ sent: 30 });
      expect(near.runs.map(({ aborted }) => aborted)).toEqual([false]);

      function whenStarted(started: DurableCall<Ask>): AsyncIterator<{ i: number }> {
        const iterator = started[Symbol.asyncIterator]();
        void vi.waitUntil(() => near.runs.length === 1, POLL).then(() => near.runs[0]?.let(30));
        return iterator;
      }
    });

    test("end for all readers when the owner cancels them, from whichever process", async () => {
      const { Ask, far, as, started } = await setup();
      const { call, run } = await started(3);
      const remote = attachCall(await as("ann", far), Ask, call.id);
      const outcomes = Promise.all([outcomeOf(call), outcomeOf(remote)]);
      await remote.cancel();
      expect(await outcomes).toEqual(["CANCELLED", "CANCELLED"]);
      expect([run.aborted, run.sent]).toEqual([true, 3]);
      await remote.cancel();
      expect(await outcomeOf(attachCall(await as("ann"), Ask, call.id))).toBe("CANCELLED");
    });

    test("can be cancelled as soon as they are started, before the server has answered", async () => {
      const { Ask, as } = await setup();
      const call = startCall(await as("ann"), Ask, { n: 3 });
      const outcome = outcomeOf(call);
      await call.cancel();
      expect(await outcome).toBe("CANCELLED");
    });

    test("go on when a reader detaches, or leaves its loop", async () => {
      const { Ask, started } = await setup();
      const { client, call, run } = await started(3);
      call.detach();
      expect(await outcomeOf(call)).toBe("CANCELLED");
      const reader = attachCall(client, Ask, call.id);
      for await (const { i } of reader) if (i === 1) break;
      expect(await outcomeOf(reader)).toBe("CANCELLED");
      run.let(7);
      expect(await read(attachCall(client, Ask, call.id))).toEqual(upTo(10));
      expect(run.aborted).toBe(false);
    });

    test("are NOT_FOUND for another owner and for an unknown id, in the same words, and cannot be cancelled", async () => {
      const { Ask, near, far, as, started } = await setup();
      const { call, run } = await started(2);
      const texts: string[] = [];
      for (const end of [near, far]) {
        const eve = await as("eve", end);
        for (const id of [call.id, crypto.randomUUID(), "no such call", ""]) {
          const attached = attachCall(eve, Ask, id);
          await expect(read(attached)).rejects.toMatchObject({ code: "NOT_FOUND" });
          texts.push(String(await attached.result.catch(({ message }: Error) => message)));
        }
        // As a hostile client would: without the id's reader.
        const stolen = attachCall(eve, Ask, call.id);
        await expect(stolen.cancel()).rejects.toMatchObject({ code: "NOT_FOUND" });
      }
      expect(new Set(texts).size).toBe(1);
      run.let(8);
      expect(await outcomeOf(call)).toEqual({ sent: 10 });
    });

    test("are UNAUTHENTICATED for a connection without an owner", async () => {
      const { Ask, as } = await setup();
      const nobody = await as("");
      expect(await outcomeOf(startCall(nobody, Ask, { n: 1 }))).toBe("UNAUTHENTICATED");
      expect(await outcomeOf(attachCall(nobody, Ask, "x"))).toBe("UNAUTHENTICATED");
    });

    test("are limited in number per owner while they run", async () => {
      const { Ask, as, started } = await setup({ maxRunning: 2 });
      const { client, run } = await started(0);
      startCall(client, Ask, { n: 1 }).result.catch(() => undefined);
      expect(await outcomeOf(startCall(client, Ask, { n: 1 }))).toBe("RESOURCE_EXHAUSTED");
      const other = startCall(await as("bob"), Ask, { n: 0 });
      expect(await outcomeOf(other)).toEqual({ sent: 0 });
      run.let(10);
      await expect.poll(() => outcomeOf(startCall(client, Ask, { n: 0 })), POLL).toEqual({ sent: 0 });
    });

    test("are kept for keepMs after their end, and NOT_FOUND later", async () => {
      const keepMs = 300;
      const { Ask, as, started } = await setup({ keepMs });
      const { call, run } = await started(2, 4);
      const client = await as("ann");
      const notEnded = performance.now();
      run.let(2);
      await call.result;
      const ended = performance.now();
      for (;;) {
        const began = performance.now();
        const items = await read(attachCall(client, Ask, call.id)).catch(
          ({ code }: { code: string }) => code,
        );
        // The second one when it expires between two reads.
        if (items === "NOT_FOUND" || items === "UNAVAILABLE") break;
        expect(items).toEqual(upTo(4));
        // The server's clock counts whole milliseconds.
        expect(began).toBeLessThan(ended + keepMs + 2);
      }
      expect(performance.now()).toBeGreaterThan(notEnded + keepMs - 2);
      expect(await outcomeOf(attachCall(client, Ask, call.id))).toBe("NOT_FOUND");
    });

    test("wait for a reader that stops, with at most 64 unread items however often its connection is lost", async () => {
      const { near, connect, started } = await setup();
      const { call, run } = await started(0, 300);
      const proxy = await startProxy(near.handle.port);
      after.push(() => proxy.stop());
      const client = await connect("ann", proxy);
      let arrived = 0;
      const item = z.object({ i: z.number() }).refine(() => ++arrived > 0);
      const Counted = rpc(
        "ASK",
        { n: z.number() },
        "ASK_END",
        { sent: z.number() },
        {
          progress: item,
          durable: { keepMs: 60_000 },
        },
      );
      const reader = attachCall(client, Counted, call.id)[Symbol.asyncIterator]();
      run.let(300);
      expect(await reader.next()).toMatchObject({ value: { i: 0 } });
      await vi.waitUntil(() => arrived >= 64, POLL);
      for (let loss = 0; loss < 3; loss++) {
        proxy.cut();
        await vi.waitUntil(() => client.state !== "open", POLL);
        proxy.mend();
        await client.onceOpen();
      }
      // Longer than the delay before a reader attaches again.
      await new Promise((resolve) => setTimeout(resolve, 500));
      expect(arrived).toBeLessThanOrEqual(65);
      const got: number[] = [0];
      for (let next = await reader.next(); !next.done; next = await reader.next()) got.push(next.value.i);
      expect(got).toEqual(upTo(300));
    });

    test("continue for a reader that took no item for slowConsumerTimeoutMs", async () => {
      const { Ask, as, started } = await setup({ slowMs: 100 });
      const { call, run } = await started(0, 200);
      run.let(200);
      await vi.waitUntil(() => run.sent === 200, POLL);
      const client = await as("ann");
      const got: number[] = [];
      for await (const { i } of attachCall(client, Ask, call.id)) {
        got.push(i);
        if (i === 10) await new Promise((resolve) => setTimeout(resolve, 600));
      }
      expect(got).toEqual(upTo(200));
    });

    test.each([
      ["has changed", "bob"],
      ["throws", undefined],
    ])("give no further item to a connection whose owner %s", async (_, user) => {
      const { Ask, as, near, started } = await setup();
      const { call, run } = await started(2);
      const client = await as("ann");
      const reader = attachCall(client, Ask, call.id);
      const got: number[] = [];
      const reading = (async () => {
        for await (const { i } of reader) got.push(i);
      })();
      reading.catch(() => undefined);
      await vi.waitUntil(() => got.length === 2, POLL);
      client.send(Become, { user });
      // A response proves that the message before it was handled.
      await attachCall(client, Ask, "unknown").result.catch(() => undefined);
      run.let(8);
      await expect(reading).rejects.toMatchObject({ code: "NOT_FOUND" });
      expect(got).toEqual([0, 1]);
      expect(await outcomeOf(call)).toEqual({ sent: 10 });
      const faults = near.errors.filter((text) => !text.startsWith("NOT_FOUND"));
      // Of the attach above, which no middleware guards.
      expect(faults).toEqual(user === undefined ? [expect.stringMatching(/^INTERNAL/)] : []);
    });

    test("do not confirm a cancel() that the server did not receive", async () => {
      const { Ask, near, connect, started } = await setup();
      const { call, run } = await started(2);
      const proxy = await startProxy(near.handle.port);
      after.push(() => proxy.stop());
      const client = await connect("ann", proxy);
      const reader = attachCall(client, Ask, call.id, { timeoutMs: 300 });
      reader.result.catch(() => undefined);
      proxy.cut();
      await vi.waitUntil(() => client.state !== "open", POLL);
      await expect(reader.cancel()).rejects.toMatchObject({ code: "DEADLINE_EXCEEDED" });
      expect(run.aborted).toBe(false);
      run.let(8);
      expect(await outcomeOf(call)).toEqual({ sent: 10 });
    });

    test("are refused with ALREADY_EXISTS when their id is in use, also by a call that has ended", async () => {
      const { Ask, near, far, as, started } = await setup();
      const { call, run } = await started(1);
      for (const end of [near, far, near, far]) {
        const client = await as("eve", end);
        // As a hostile client would: with the id of another call.
        const stream: Ask["stream"] = (host, pending, options) =>
          Ask.stream(host, pending, options, { id: call.id });
        const repeated = client.request({ ...Ask, stream }, { n: 1 });
        await expect(repeated).rejects.toMatchObject({ code: "ALREADY_EXISTS" });
        if (end === far) run.let(9);
        if (end === far) await call.result;
      }
      expect([near.runs.length, far.runs.length]).toEqual([1, 0]);
    });

    test("end with one UNAVAILABLE for all readers when their server stops", async () => {
      const { Ask, near, far, as, started } = await setup();
      const { call } = await started(3);
      const remote = attachCall(await as("ann", far), Ask, call.id);
      const items = read(remote).catch(({ code }: { code: string }) => code);
      await near.handle.stop();
      expect(await items).toBe("UNAVAILABLE");
      const again = attachCall(await as("ann", far), Ask, call.id);
      await expect(again.result).rejects.toMatchObject({ code: "UNAVAILABLE", retryable: false });
    });
  });
}
