import { afterAll, describe, test } from "vitest";
import { BROKERS } from "../fixtures/cluster/cluster.ts";
import { runRollingDeploy } from "../fixtures/cluster/rolling.ts";
import { Findings } from "../fixtures/long/findings.ts";
import { seedOf } from "../fixtures/random.ts";

const CLIENTS = 1_500;
const TOPICS = 150;
const PUBLISHES_PER_SECOND = 250;
const ROUNDS = 3;

const seed = seedOf("rolling deploy");
const findings = new Findings();

describe.each(BROKERS)("a rolling deploy of three servers over $name", (broker) => {
  test(`under the load of ${CLIENTS} clients fails no request and no publish`, async () => {
    const figures = await runRollingDeploy({
      broker,
      seed,
      crowds: 3,
      clients: CLIENTS,
      topics: TOPICS,
      publishesPerSecond: PUBLISHES_PER_SECOND,
      rounds: ROUNDS,
      patienceMs: 0,
    });
    findings.passed(broker.name, figures);
  });
});

afterAll(() => {
  findings.publish("rolling-deploy", BROKERS.length, {
    what: "Three servers share a broker. One after the other is replaced under load: the new one is started, then the old one is sent SIGTERM and drains.",
    size: `${CLIENTS} clients in three processes, each with one request after the other of up to a second, and ${PUBLISHES_PER_SECOND} publishes a second; all servers are replaced ${ROUNDS} times.`,
    checked:
      "From the history that every process wrote: every request was answered, every publish accepted, no drain was forced, nobody was told of a gap; each client saw the messages of each server on its topic in order, and on a connection that lasted none was missing.",
    suite: "packages/wire/test/long/rolling-deploy.long.test.ts",
    seed,
  });
});
