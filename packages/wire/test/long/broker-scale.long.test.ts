import { setTimeout as delay } from "node:timers/promises";
import { sized, startRedisCluster } from "@halyard/services";
import { afterAll, describe, expect, test } from "vitest";
import { Findings } from "../fixtures/long/findings.ts";
import { startChild } from "../fixtures/scale/child.ts";

const TOPICS = sized(80_000, 8_000);
const PUBLISHERS = 60;
const LIMIT_MB = (600 * TOPICS) / 80_000;
const BYTES_PER_POSITION = 100;
const CLUSTER_TOPICS = sized(100_000, 10_000);
const MASTERS = 3;
const STALL_MS = 200;
const POLL = { timeout: 60_000, interval: 100 };

interface Report {
  readonly connected: boolean;
  readonly longestMs: number;
  readonly announcedTopics: number;
}

const findings = new Findings();

describe("a process with many topics", () => {
  test(`needs at most ${LIMIT_MB} MB for ${TOPICS} topics with ${PUBLISHERS} publishers each`, async () => {
    const env = { TOPICS: String(TOPICS), PUBLISHERS: String(PUBLISHERS) };
    const child = startChild("positions.ts", env);
    const used = await child.next<{ idleMb: number; totalMb: number; bytesPerPosition: number }>();
    child.stop();
    expect(used.totalMb).toBeLessThanOrEqual(LIMIT_MB);
    expect(used.bytesPerPosition).toBeLessThanOrEqual(BYTES_PER_POSITION);
    findings.passed("Node", {
      "memory for the topics alone, MB": used.idleMb,
      "memory with all positions, MB": used.totalMb,
      "bytes per topic and publisher": used.bytesPerPosition,
    });
  });

  test(`is not blocked for more than ${STALL_MS} ms when a node of a Redis Cluster with ${CLUSTER_TOPICS} topics fails`, async () => {
    const cluster = await startRedisCluster({ masters: MASTERS, replicasPerMaster: 1 });
    const env = { TOPICS: String(CLUSTER_TOPICS), URLS: cluster.urls.join(" ") };
    const child = startChild("shard-failover.ts", env);
    try {
      expect(await child.next<string>()).toBe("subscribed");
      await child.ask("reset");
      // Several refreshes of the slot table, of which none changes it.
      await delay(5_000);
      const quiet = await child.ask<Report>("reset");
      await cluster.nodes[0]?.kill();
      const isFollowed = async () => {
        const { connected, announcedTopics } = await child.ask<Report>("report");
        return connected && announcedTopics > CLUSTER_TOPICS / MASTERS / 2;
      };
      await expect.poll(isFollowed, POLL).toBe(true);
      // Until the last gap is announced.
      await delay(2_000);
      const failover = await child.ask<Report>("report");
      expect(failover.longestMs).toBeLessThanOrEqual(STALL_MS);
      expect(failover.announcedTopics).toBeGreaterThan(CLUSTER_TOPICS / MASTERS / 1.1);
      expect(failover.announcedTopics).toBeLessThan((CLUSTER_TOPICS / MASTERS) * 1.1);
      findings.passed("Node", {
        "topics of the failed node, all announced": failover.announcedTopics,
        "longest stall without a change, ms": quiet.longestMs,
        "longest stall during the failover, ms": failover.longestMs,
      });
    } finally {
      child.stop();
      await cluster.stop();
    }
  });
});

afterAll(() => {
  findings.publish("broker-scale", 2, {
    what: "One process subscribes to many topics. First it receives one message of every publisher on every topic. Then its topics are on a Redis Cluster whose master is killed, and a replica takes over.",
    size: `${TOPICS} topics with ${PUBLISHERS} publishers each; ${CLUSTER_TOPICS} topics on ${MASTERS} masters with a replica each.`,
    checked: `Positions need at most ${LIMIT_MB} MB and ${BYTES_PER_POSITION} bytes each; delivered messages are garbage. The event loop is blocked for at most ${STALL_MS} ms of CPU time until all topics are subscribed at the new node and their gaps are announced.`,
    suite: "packages/wire/test/long/broker-scale.long.test.ts",
  });
});
