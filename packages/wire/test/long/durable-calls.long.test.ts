import { createRedisPrefix } from "@halyard/services";
import { afterAll, expect, test } from "vitest";
import { checkDurableCalls, runDurableCalls } from "../fixtures/durable/run.ts";
import { Findings } from "../fixtures/long/findings.ts";
import { seedOf } from "../fixtures/random.ts";

const CALLS = Number(process.env["HALYARD_DURABLE_CALLS"] ?? 1_000);
const ITEMS = Number(process.env["HALYARD_DURABLE_ITEMS"] ?? 1_000);
const PROCESSES = 3;
const KILLS = Number(process.env["HALYARD_DURABLE_KILLS"] ?? 5);
const IS_FULL = CALLS >= 1_000 && ITEMS >= 1_000;

const findings = new Findings();

test(`${CALLS} durable calls of ${ITEMS} items have one sequence and one end for all readers, although processes are killed`, async () => {
  const { url, prefix } = await createRedisPrefix();
  const history = await runDurableCalls({
    ...{ url, prefix, processes: PROCESSES, calls: CALLS, items: ITEMS, kills: KILLS },
    seed: seedOf("durable-calls"),
  });
  const problems = checkDurableCalls(history, ITEMS);
  const counts: Record<string, number> = {};
  for (const { end } of history.readings) counts[end] = (counts[end] ?? 0) + 1;
  console.log({ readings: history.readings.length, foreign: history.foreign.length, ...counts });
  expect(problems.slice(0, 20), `${problems.length} problems`).toEqual([]);
  expect(history.readings.length).toBe(3 * CALLS);
  if (IS_FULL) findings.passed("Node", { calls: CALLS, readings: history.readings.length, ...counts });
}, 600_000);

afterAll(() => {
  findings.publish("durable-calls", 1, {
    what: "Three processes over Redis run durable calls. Each has three readers: the one that started it, a second device, and one after the end. Some leave in the middle. Processes are killed with SIGKILL and started again.",
    size: `${CALLS} calls of ${ITEMS} items, ${KILLS} kills.`,
    checked:
      "Every reader saw the items from the first one without a gap. All readers of a call saw the same end: the response after all items, or UNAVAILABLE after the same number of items. Attaching as another user was NOT_FOUND.",
    suite: "packages/wire/test/long/durable-calls.long.test.ts",
  });
});
