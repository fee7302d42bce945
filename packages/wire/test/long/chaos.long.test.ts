import { bunPath } from "@halyard/services";
import { afterAll, describe, test } from "vitest";
import { runChaos } from "../client/chaos.ts";
import { Findings } from "../fixtures/long/findings.ts";
import { seedOf } from "../fixtures/random.ts";

const CLIENTS = 200;
const DURATION_MS = 300_000;

const seed = seedOf("chaos");
const findings = new Findings();
const RUNTIMES = [
  ["Node", () => process.execPath],
  ["Bun", bunPath],
] as const;

describe.each(RUNTIMES)("through a chaos proxy, against a server on %s", (name, command) => {
  test(`${CLIENTS} clients settle each request once with its own answer, for ${DURATION_MS / 60_000} minutes`, async () => {
    findings.passed(
      name,
      await runChaos({ command: command(), clients: CLIENTS, durationMs: DURATION_MS, seed }),
    );
  });
});

afterAll(() => {
  findings.publish("chaos", RUNTIMES.length, {
    what: "Clients send requests through a proxy that delays, stalls, cuts, resets, half-opens, trickles one byte at a time, or accepts and closes their connections.",
    size: `${CLIENTS} clients, two requests each at a time, for ${DURATION_MS / 60_000} minutes; a twentieth of the requests is cancelled by its caller.`,
    checked:
      "Every request settled exactly once, with its own answer or one of the promised codes; no handler ran twice for a request; every client went through its states in legal order and was connected again when the proxy behaved; every kind of misbehaviour came up.",
    suite: "packages/wire/test/long/chaos.long.test.ts",
    seed,
  });
});
