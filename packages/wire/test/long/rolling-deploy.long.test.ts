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
    what: "Three servers share a broker. They are replaced one by one under load: the new server starts, then the old one receives SIGTERM and drains.",
    size: `${CLIENTS} clients in three processes, each with one request after the other of up to a second, and ${PUBLISHES_PER_SECOND} publishes a second; all servers are replaced ${ROUNDS} times.`,
    checked:
      "From the history of every process: every request was answered, every publish accepted, no drain was forced, and no client received a gap; each client received the messages of each server on its topic in order, and none was missing on a connection that stayed open.",
    suite: "packages/wire/test/long/rolling-deploy.long.test.ts",
    seed,
  });
});
