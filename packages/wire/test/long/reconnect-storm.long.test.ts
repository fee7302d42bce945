import { afterAll, describe, test } from "vitest";
import { runStorm, type Storm } from "../fixtures/cluster/storm.ts";
import { Findings } from "../fixtures/long/findings.ts";
import { seedOf } from "../fixtures/random.ts";

const CLIENTS = 10_000;
const CROWDS = 4;
const BACK_MS = 20_000;
const REST_MS = 5_000;

const seed = seedOf("reconnect storm");
const findings = new Findings();
const STORMS: readonly (Pick<Storm, "cause" | "jitter"> & { readonly name: string })[] = [
  { name: "all cut", cause: "every connection is cut", jitter: "full" },
  { name: "all cut, no jitter", cause: "every connection is cut", jitter: "none" },
  { name: "server killed", cause: "the server is killed", jitter: "full" },
];

describe.each(STORMS)("a reconnect storm: $name", ({ name, cause, jitter }) => {
  test(`of ${CLIENTS} clients is over in time, within twice the server's steady memory`, async () => {
    const sizes = { crowds: CROWDS, clients: CLIENTS, backMs: BACK_MS, restMs: REST_MS };
    findings.passed(name, await runStorm({ ...sizes, cause, jitter, seed }));
  });
});

afterAll(() => {
  findings.publish("reconnect-storm", STORMS.length, {
    what: "All clients of one server over Redis lose their connections at the same time: by a cut on their side, with and without the client's jitter; or because the server is killed and restarted on its port. All reconnect, authenticate and join their topics again.",
    size: `${CLIENTS} clients in ${CROWDS} processes, ${CLIENTS / 10} topics of 10.`,
    checked:
      "From the clients' records: every client was subscribed to its topic again, 99 % of them in time. From the operating system's figures for the server: its peak memory stayed below twice its memory with all clients idle. The server authenticated each client at most twice on average.",
    suite: "packages/wire/test/long/reconnect-storm.long.test.ts",
    seed,
  });
});
