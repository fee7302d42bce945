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
  test(`with ${CLIENTS} clients keep order, announce every hole and settle every request while the broker, servers and links die`, async () => {
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
    what: "Three servers share a broker. Under load the broker is killed with SIGKILL and comes back after 100 to 2,500 ms; servers are killed and replaced, and each is replaced once by drain; a tenth of the connections is cut at once; users are revoked by `router.disconnect`. The three kinds of fault run side by side.",
    size: `${CLIENTS} clients in three processes, ${TOPICS} topics of ${CLIENTS / TOPICS}, ${PUBLISHES_PER_SECOND} publishes a second; ${BROKER_KILLS} kills of the broker, ${SERVER_KILLS} of servers, three drains, ${CUTS} cuts, ${REVOCATIONS} users revoked.`,
    checked:
      "From the history that every process wrote: each client saw the messages of each server on its topic in order and none twice; every message that was accepted and not seen was announced by `$ws:gap` in time and before any that followed it, or its connection had ended; every publish was answered in time, and none was accepted while the broker was dead; every request settled once, and no handler ran twice for one; every connection of a revoked user was closed in time; once all had healed, nothing was missed, refused or announced.",
    suite: "packages/wire/test/long/cluster-chaos.long.test.ts",
    seed,
  });
});
