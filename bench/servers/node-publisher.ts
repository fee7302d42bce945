/**
 * A program that publishes over Redis for a number of seconds, with or without history, and prints the cost of a publish as
 * JSON. Every message is also received.
 */
import { parseArgs } from "node:util";
import { redisPubSub } from "@halyard/wire/redis";
import { createClient } from "redis";

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { warm: { type: "string", default: "1" }, measured: { type: "string", default: "1" } },
});
const [mode, url = ""] = positionals;
const TOPICS = Array.from({ length: 100 }, (_, i) => `$c/room/${i}`);
const FRAME = JSON.stringify({ type: "SAID", meta: { timestamp: 1 }, payload: { text: "x".repeat(150) } });
const HISTORY = { size: 200, ttlMs: 600_000 };
const OUTSTANDING = 256;

const pubsub = redisPubSub(createClient({ url }));
const { history } = pubsub;
let received = 0;
for (const topic of TOPICS) await pubsub.subscribe(topic, { deliver: () => ++received });

async function publish(topic: string): Promise<void> {
  const result =
    mode === "history"
      ? await history?.append(topic, FRAME, HISTORY)
      : await pubsub.publish(topic, FRAME, {});
  if (!result?.ok) throw new Error(`A publish failed: ${JSON.stringify(result)}`);
}

async function run(seconds: number): Promise<{ operations: number; cpuUs: number; wallUs: number }> {
  const cpu = process.cpuUsage();
  const started = performance.now();
  const endAt = started + seconds * 1_000;
  let operations = 0;
  const work = async (): Promise<void> => {
    while (performance.now() < endAt) await publish(TOPICS[operations++ % TOPICS.length] ?? "");
  };
  await Promise.all(Array.from({ length: OUTSTANDING }, work));
  const { user, system } = process.cpuUsage(cpu);
  return { operations, cpuUs: user + system, wallUs: (performance.now() - started) * 1_000 };
}

const warm = await run(Number(values.warm));
const measured = await run(Number(values.measured));
const published = warm.operations + measured.operations;
for (const endAt = performance.now() + 5_000; received < published && performance.now() < endAt; )
  await new Promise((resolve) => setTimeout(resolve, 10));
if (received !== published) throw new Error(`${received} of ${published} messages were received.`);
console.log(JSON.stringify(measured));
await pubsub.close();
