import { Redis } from "ioredis";
import { afterAll, expect, test } from "vitest";
import { startReplicatedRedis } from "../fixtures/durable/broker.ts";
import { KEEP_MS } from "../fixtures/durable/messages.ts";
import { checkDurableCalls, runDurableCalls, waitsOf } from "../fixtures/durable/run.ts";
import { Findings } from "../fixtures/long/findings.ts";
import { seedOf } from "../fixtures/random.ts";

const CALLS = Number(process.env["HALYARD_DURABLE_CALLS"] ?? 1_000);
const ITEMS = Number(process.env["HALYARD_DURABLE_ITEMS"] ?? 1_000);
const PROCESSES = 3;
const PARALLEL = Number(process.env["HALYARD_DURABLE_PARALLEL"] ?? 50);
const KILLS = Number(process.env["HALYARD_DURABLE_KILLS"] ?? 6);
const FAILOVERS = Number(process.env["HALYARD_DURABLE_FAILOVERS"] ?? 2);
const TOLD_MS = 5_000;
const IS_FULL = CALLS >= 1_000 && ITEMS >= 1_000;

const findings = new Findings();

test(`${CALLS} durable calls of ${ITEMS} items have one sequence and one end for all readers, although processes are killed and Redis fails over`, async () => {
  const redis = await startReplicatedRedis();
  const history = await runDurableCalls({
    ...{ redis, prefix: "durable:", processes: PROCESSES, calls: CALLS, parallel: PARALLEL, items: ITEMS },
    ...{ kills: KILLS, failovers: FAILOVERS },
    seed: seedOf("durable-calls"),
  });
  const problems = checkDurableCalls(history, ITEMS);
  const counts: Record<string, number> = {};
  for (const { end } of history.readings) counts[end] = (counts[end] ?? 0) + 1;
  const waits = waitsOf(history).sort((a, b) => a - b);
  const longestMs = Math.round(waits.at(-1) ?? 0);
  const keptTooLong = await keysPast(KEEP_MS, redis.url, [...history.starts.values()]);
  await redis.stop();
  const readings = history.readings.length;
  console.log({ readings, foreign: history.foreign.length, ...counts, told: waits.length, longestMs });
  expect(problems.slice(0, 20), `${problems.length} problems`).toEqual([]);
  expect(readings).toBeGreaterThanOrEqual(3 * CALLS);
  expect(keptTooLong).toEqual([]);
  expect(longestMs).toBeLessThan(TOLD_MS);
  if (IS_FULL)
    findings.passed("Node", {
      ...{ calls: CALLS, readings, ...counts },
      "readers of killed processes": waits.length,
      "longest wait for UNAVAILABLE, ms": longestMs,
    });
}, 900_000);

/** The keys of these calls that Redis keeps for longer than `keepMs`. All of the calls have ended. */
async function keysPast(
  keepMs: number,
  url: string,
  calls: readonly { readonly id: string }[],
): Promise<string[]> {
  const redis = new Redis(url);
  const ids = new Set(calls.map(({ id }) => id));
  const late: string[] = [];
  for (const key of await redis.keys("durable:*")) {
    const id = /\$d\/([\w.-]+)/.exec(key)?.[1] ?? "";
    if (ids.has(id) && (await redis.pttl(key)) > keepMs) late.push(key);
  }
  redis.disconnect();
  return late;
}

afterAll(() => {
  findings.publish("durable-calls", 1, {
    what: "Three processes over Redis with a replica run durable calls. Each call has three or four readers: the one that started it, the same one after a reload, a second device, and one after the end. Processes are killed with SIGKILL and started again, and the master of Redis is killed, after which its replica is the master.",
    size: `${CALLS} calls of ${ITEMS} items, ${PARALLEL} at the same time; ${KILLS} kills and ${FAILOVERS} failovers.`,
    checked:
      "Every reader saw the items from the first one without a gap. All readers of a call saw the same end: the response after all items, or UNAVAILABLE. Readers of a killed process got it within 5 s. Attaching as another user was NOT_FOUND. Redis keeps no key of an ended call for longer than keepMs.",
    suite: "packages/wire/test/long/durable-calls.long.test.ts",
  });
});
