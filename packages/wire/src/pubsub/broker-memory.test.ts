import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { BrokerPubSub } from "./broker.ts";
import type { TransportEvents } from "./transport.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

function heapBytes(): number {
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}

function start() {
  const events: TransportEvents[] = [];
  const done = async (): Promise<void> => undefined;
  const pubsub = new BrokerPubSub("test", (given) => {
    events.push(given);
    return { isConnected: true, subscribe: done, unsubscribe: done, publish: done, close: done };
  });
  const [transport] = events;
  if (transport === undefined) throw new Error("The pub/sub did not create its transport.");
  return { pubsub, transport };
}

/** A message as a client library makes it: one flat string from the received bytes. */
function message(publisher: number, sequence: number, payload: string): string {
  const id = `0199aaaa-0000-7000-8000-${String(publisher).padStart(12, "0")}`;
  return Buffer.from(`1 ${id} ${sequence} 0 -\n${payload}`).toString();
}

test("a delivered message is garbage: its topic keeps only a position", async () => {
  const { pubsub, transport } = start();
  const topics = Array.from({ length: 500 }, (_, i) => `room:${i}:messages`);
  for (const topic of topics) await pubsub.subscribe(topic, { deliver: () => 0 });
  const before = heapBytes();
  for (const [i, topic] of topics.entries())
    transport.received(topic, message(i % 5, i + 1, "x".repeat(20_000)));
  expect(heapBytes() - before).toBeLessThan(2_000_000);
  await pubsub.close();
});

test("a topic that was cut out of a long text does not keep that text", async () => {
  const { pubsub } = start();
  const before = heapBytes();
  for (let i = 0; i < 500; i++) {
    const text = Buffer.from(`room:${i}:messages ${"x".repeat(20_000)}`).toString();
    await pubsub.subscribe(text.slice(0, text.indexOf(" ")), { deliver: () => 0 });
    await pubsub.publish(text.slice(0, text.indexOf(" ")), "x", {});
  }
  expect(heapBytes() - before).toBeLessThan(2_000_000);
  await pubsub.close();
});

test("a position costs at most 100 bytes per topic and publisher", async () => {
  const { pubsub, transport } = start();
  const [topics, publishers] = [1_000, 60];
  for (let i = 0; i < topics; i++) await pubsub.subscribe(`room:${i}`, { deliver: () => 0 });
  const before = heapBytes();
  for (let p = 0; p < publishers; p++)
    for (let i = 0; i < topics; i++) transport.received(`room:${i}`, message(p, p * topics + i + 1, "{}"));
  expect((heapBytes() - before) / topics / publishers).toBeLessThan(100);
  await pubsub.close();
});
