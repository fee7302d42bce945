import { describe, expect, test, vi } from "vitest";
import { FakeClock } from "../../testing/fake-clock.ts";
import { RedisClusterTransport } from "./cluster-transport.ts";
import type { RedisSource } from "./connection.ts";

type Slots = readonly (readonly [number, number, readonly [string, number]])[];
const THREE: Slots = [
  [0, 5_460, ["a", 1]],
  [5_461, 10_922, ["b", 2]],
  [10_923, 16_383, ["c", 3]],
];
/** The replica of the first node has taken over. */
const FAILED_OVER: Slots = [[0, 5_460, ["a2", 4]], ...THREE.slice(1)];

/** A cluster in memory that accepts everything, and keeps what each node has subscribed. */
class FakeCluster {
  slots: Slots = THREE;
  readonly subscribed = new Map<string, Set<string>>();
  readonly source: RedisSource = {
    isCluster: true,
    slots: async () => this.slots,
    open: async (_, address) => {
      const host = address?.host ?? "";
      const channels = this.subscribed.get(host) ?? new Set<string>();
      this.subscribed.set(host, channels);
      return {
        ended: new Promise<string>(() => undefined),
        destroy: () => undefined,
        subscribe: async (names) => names.map((name) => channels.add(name)),
        unsubscribe: async (name) => channels.delete(name),
        publish: async () => 1,
        command: async () => this.slots,
      };
    },
  };

  topicsAt(host: string): number {
    return [...(this.subscribed.get(host) ?? [])].filter((name) => name.startsWith("p:t:")).length;
  }
}

function start() {
  const clock = new FakeClock();
  const cluster = new FakeCluster();
  const log = { lost: [] as number[], restored: [] as number[] };
  const resumed = vi.fn<(lostAt: number, concerns?: (topic: string) => boolean) => void>();
  const transport = new RedisClusterTransport(
    {
      prefix: "p:",
      id: "x",
      clock,
      replyTimeoutMs: 2_000,
      durable: false,
      subscriberSource: cluster.source,
      publisherSource: cluster.source,
    },
    {
      received: () => undefined,
      lost: (topics) => void log.lost.push([...topics].length),
      restored: (topics) => void log.restored.push([...topics].length),
      resumed,
    },
  );
  return { clock, cluster, log, resumed, transport };
}

describe("a transport over a Redis Cluster", () => {
  test("moves the topics of a failed node in batches, reports them lost at once, and leaves the others alone", async () => {
    const { clock, cluster, log, transport } = start();
    const topics = Array.from({ length: 3_000 }, (_, i) => `room ${i}`);
    await Promise.all(topics.map((topic) => transport.subscribe(topic)));
    const [a, b, c] = ["a", "b", "c"].map((host) => cluster.topicsAt(host));
    expect([a, b, c].reduce<number>((sum, count) => sum + (count ?? 0), 0)).toBe(3_000);
    await clock.advance(5_000);
    log.restored.length = 0;
    expect(log.lost).toEqual([]);
    cluster.slots = FAILED_OVER;
    await clock.advance(2_000);
    expect(log.lost).toEqual([a]);
    expect(Math.max(...log.restored)).toBeLessThanOrEqual(500);
    expect(["a2", "b", "c"].map((host) => cluster.topicsAt(host))).toEqual([a, b, c]);
    expect(transport.isConnected).toBe(true);
    await transport.close();
  });

  test("reports a moved slot to the publisher for the topics concerned only", async () => {
    const { clock, cluster, resumed, transport } = start();
    const topics = Array.from({ length: 100 }, (_, i) => `room ${i}`);
    await Promise.all(topics.map((topic) => transport.subscribe(topic)));
    const moving = new Set([...(cluster.subscribed.get("a") ?? [])].map((name) => name.slice("p:t:".length)));
    cluster.slots = FAILED_OVER;
    await clock.advance(2_000);
    expect(resumed).toHaveBeenCalledTimes(1);
    const concerns = resumed.mock.calls[0]?.[1] ?? (() => false);
    for (const topic of topics) expect([topic, concerns(topic)]).toEqual([topic, moving.has(topic)]);
    await transport.close();
  });

  test("follows a topic that is unsubscribed while it moves: it is subscribed nowhere", async () => {
    const { clock, cluster, transport } = start();
    const topics = Array.from({ length: 50 }, (_, i) => `room ${i}`);
    await Promise.all(topics.map((topic) => transport.subscribe(topic)));
    cluster.slots = FAILED_OVER;
    const moving = clock.advance(2_000);
    await Promise.all(topics.map((topic) => transport.unsubscribe(topic)));
    await moving;
    await clock.advance(2_000);
    expect(["a", "a2", "b", "c"].map((host) => cluster.topicsAt(host))).toEqual([0, 0, 0, 0]);
    await transport.close();
  });
});
