/** The contract of durable calls over every pub/sub with history: start, read, attach, cancel, and what is not kept. */
import { afterEach, describe, expect, test, vi } from "vitest";
import { type ServerHandle, serve } from "../../src/adapters/node.ts";
import { attachCall, type DurableCall, startCall, type WsClient, wsClient } from "../../src/client/index.ts";
import type { PubSub } from "../../src/index.ts";
import { createRouter, rpc, z } from "../../src/zod.ts";
import { startProxy } from "../fixtures/proxy.ts";

/** Two ends of one pub/sub, as two processes have them; the same object in one process. */
export interface CallBus {
  readonly near: PubSub;
  readonly far: PubSub;
  stop(): Promise<void>;
}

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
async function office(pubsub: PubSub, Ask: Ask, maxRunningPerOwner?: number) {
  const runs: Run[] = [];
  const errors: string[] = [];
  const router = createRouter<{ clientId: string; userId: string }>({ pubsub });
  router.onError(({ code, message }) => void errors.push(`${code} ${message}`));
  router.rpc(
    Ask,
    { owner: (ctx) => ctx.data.userId, ...(maxRunningPerOwner && { maxRunningPerOwner }) },
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

    async function setup({ keepMs = 60_000, maxRunning }: { keepMs?: number; maxRunning?: number } = {}) {
      const Ask = declareAsk(keepMs);
      const bus = await open();
      after.push(() => bus.stop());
      const [near, far] = [await office(bus.near, Ask, maxRunning), await office(bus.far, Ask, maxRunning)];
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
      const { Ask, as, started } = await setup({ keepMs: 2_000 });
      const { call, run } = await started(2, 4);
      run.let(2);
      await call.result;
      const client = await as("ann");
      expect(await read(attachCall(client, Ask, call.id))).toEqual(upTo(4));
      await expect.poll(() => outcomeOf(attachCall(client, Ask, call.id)), POLL).toBe("NOT_FOUND");
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
