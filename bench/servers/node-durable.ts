/**
 * A program that produces items over Redis for a number of seconds and prints the cost of an item as JSON: as items of
 * durable calls, each with its reader, or as a bare XADD and PUBLISH. Every item is also received.
 */
import { parseArgs } from "node:util";
import { redisPubSub } from "@halyard/wire/redis";
import { createTestServer } from "@halyard/wire/testing";
import { createRouter, rpc, z } from "@halyard/wire/zod";
import { createClient } from "redis";

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { warm: { type: "string", default: "1" }, measured: { type: "string", default: "1" } },
});
const [mode, url = ""] = positionals;
const CALLS = 100;
const TEXT = "x".repeat(100);
const PROGRESS = "$ws:rpc-progress";

/** Producers run until `isOver`. */
let isOver = false;
let produced = 0;

interface Setup {
  /** Resolves when all producers have ended. */
  readonly ended: Promise<unknown>;
  received(): number;
  close(): Promise<unknown>;
}

async function durableCalls(): Promise<Setup> {
  const Ask = rpc("ASK", undefined, "ASKED", undefined, {
    progress: z.object({ i: z.number(), text: z.string() }),
    durable: { keepMs: 60_000 },
  });
  const pubsub = redisPubSub(createClient({ url }));
  const router = createRouter({ pubsub }).rpc(
    Ask,
    { owner: () => "one", maxRunningPerOwner: CALLS },
    async (ctx) => {
      for (let i = 0; !isOver; i++) {
        await ctx.progress({ i, text: TEXT });
        produced++;
      }
      ctx.reply(Ask.response);
    },
  );
  const server = createTestServer(router);
  const peers = await Promise.all(Array.from({ length: CALLS }, () => server.connect()));
  for (const peer of peers)
    await peer.sendRaw('{"type":"ASK","meta":{"correlationId":"1","timeoutMs":300000}}');
  const count = (type: string): number =>
    peers.reduce((sum, { frames }) => sum + frames.filter((frame) => frame.type === type).length, 0);
  const ended = (async () => {
    while (!isOver || count("ASKED") < CALLS) await new Promise((resolve) => setTimeout(resolve, 50));
  })();
  return { ended, received: () => count(PROGRESS), close: async () => pubsub.close() };
}

async function bareCommands(): Promise<Setup> {
  const [writer, subscriber] = [createClient({ url }), createClient({ url })];
  await Promise.all([writer.connect(), subscriber.connect()]);
  let received = 0;
  const keys = Array.from({ length: CALLS }, (_, i) => `call:${i}`);
  await subscriber.subscribe(keys, () => {
    received++;
  });
  const produce = async (key: string): Promise<void> => {
    for (let i = 0; !isOver; i++) {
      const item = JSON.stringify({ i, text: TEXT });
      await Promise.all([writer.xAdd(key, "*", { f: item }), writer.publish(key, item)]);
      produced++;
    }
  };
  const ended = Promise.all(keys.map(produce));
  return {
    ended,
    received: () => received,
    close: () => Promise.all([writer.close(), subscriber.close()]),
  };
}

const wait = (seconds: number) => new Promise((resolve) => setTimeout(resolve, seconds * 1_000));

const { ended, received, close } = await (mode === "durable" ? durableCalls() : bareCommands());
await wait(Number(values.warm));
const [before, cpu, startedAt] = [produced, process.cpuUsage(), performance.now()];
await wait(Number(values.measured));
const { user, system } = process.cpuUsage(cpu);
const measured = {
  operations: produced - before,
  cpuUs: user + system,
  wallUs: (performance.now() - startedAt) * 1_000,
};
isOver = true;
await ended;
for (const endAt = performance.now() + 5_000; received() < produced && performance.now() < endAt; )
  await wait(0.01);
if (received() !== produced) throw new Error(`${received()} of ${produced} items were received.`);
console.log(JSON.stringify(measured));
await close();
