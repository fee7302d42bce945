import { bunPath } from "@halyard/services";
import { afterAll, describe, test } from "vitest";
import { runChaos } from "../client/chaos.ts";
import { Findings } from "../fixtures/long/findings.ts";
import { seedOf } from "../fixtures/random.ts";

const CLIENTS = 200;
const DURATION_MS = 600_000;

const seed = seedOf("chaos");
const findings = new Findings();
const RUNTIMES = [
  ["Node", () => process.execPath],
  ["Bun", bunPath],
] as const;

describe.each(RUNTIMES)("through a fault-injecting proxy to a server on %s", (name, command) => {
  test(`${CLIENTS} clients settle each request once with its own response, for ${DURATION_MS / 60_000} minutes`, {
    timeout: DURATION_MS + 120_000,
  }, async () => {
    findings.passed(
      name,
      await runChaos({ command: command(), clients: CLIENTS, durationMs: DURATION_MS, seed }),
    );
  });
});

afterAll(() => {
  findings.publish("chaos", RUNTIMES.length, {
    what: "Clients send requests through a proxy that delays, stalls, cuts, resets, half-opens, trickles one byte at a time, or accepts and closes their connections.",
    size: `${CLIENTS} clients, two requests each at a time, for ${DURATION_MS / 60_000} minutes; callers cancel 5 % of the requests.`,
    checked:
      "Every request settled exactly once, with its own response or a documented error code; no handler ran twice for a request; every client made only allowed state transitions and was connected again when the proxy stopped injecting faults; every kind of fault occurred.",
    suite: "packages/wire/test/long/chaos.long.test.ts",
    seed,
  });
});
