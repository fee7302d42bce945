import { afterAll, describe, test } from "vitest";
import { runClusterChaos } from "../fixtures/cluster/chaos.ts";
import { BROKERS } from "../fixtures/cluster/cluster.ts";
import { Findings } from "../fixtures/long/findings.ts";
import { seedOf } from "../fixtures/random.ts";

const CLIENTS = 3_000;
const TOPICS = 300;
const PUBLISHES_PER_SECOND = 500;
const BROKER_KILLS = 10;
const SERVER_KILLS = 5;
const CUTS = 5;
const REVOCATIONS = 5;

const seed = seedOf("cluster chaos");
const findings = new Findings();

describe.each(BROKERS)("three servers over $name", (broker) => {
  test(`with ${CLIENTS} clients keep the order, announce every gap and settle every request while the broker, servers and connections fail`, async () => {
    const figures = await runClusterChaos({
      broker,
      seed,
      crowds: 3,
      clients: CLIENTS,
      topics: TOPICS,
      publishesPerSecond: PUBLISHES_PER_SECOND,
      brokerKills: BROKER_KILLS,
      serverKills: SERVER_KILLS,
      cuts: CUTS,
      revocations: REVOCATIONS,
      faultEveryMs: 10_000,
      calmMs: 5_000,
      patienceMs: 0,
    });
    findings.passed(broker.name, figures);
  });
});

afterAll(() => {
  findings.publish("cluster-chaos", BROKERS.length, {
    what: "Three servers share a broker. Under load the broker is killed with SIGKILL and comes back after 100 to 2,500 ms; servers are killed and replaced, and each is replaced once by drain; a tenth of the connections is cut at the same time; users are revoked by `router.disconnect`. The three kinds of fault run concurrently.",
    size: `${CLIENTS} clients in three processes, ${TOPICS} topics of ${CLIENTS / TOPICS}, ${PUBLISHES_PER_SECOND} publishes a second; ${BROKER_KILLS} kills of the broker, ${SERVER_KILLS} of servers, three drains, ${CUTS} cuts, ${REVOCATIONS} users revoked.`,
    checked:
      "From the history of every process: each client received the messages of each server on its topic in order and without duplicates; every accepted message that a client missed was announced by `$ws:gap` in time and before any later message, or the connection had ended; every publish settled in time, and none was accepted while the broker was down; every request settled once, and no handler ran twice for one; every connection of a revoked user was closed in time; after all faults were over, no message was missed, refused or announced as missing.",
    suite: "packages/wire/test/long/cluster-chaos.long.test.ts",
    seed,
  });
});
