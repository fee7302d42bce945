import { type Program, spawnProgram } from "@halyard/services";
import { afterAll, describe, expect, test, vi } from "vitest";
import { gather, type Member } from "../fixtures/long/crowd.ts";
import { Findings } from "../fixtures/long/findings.ts";
import type { Health } from "../fixtures/long/program.ts";
import { fixture, RUNTIMES } from "../fixtures/long/runtimes.ts";

const CONNECTIONS = 10_000;
const INTERVAL_MS = 1_000;
const TIMEOUT_MS = 500;
const BOUND_MS = INTERVAL_MS + TIMEOUT_MS + 1_000;
const LAG_MS = 10;
/** Each holds at least one sweep over every connection; one pause of the machine decides nothing. */
const WINDOWS = 7;
const WINDOW_MS = 1_500;
const HEARTBEAT_LOST = 4408;

const findings = new Findings();

describe.each(RUNTIMES)("the heartbeat on $name", ({ name, start }) => {
  test(`closes ${CONNECTIONS} peers that fell silent within interval + timeout + 1 s, and keeps the loop free`, async () => {
    const baseline = await withIdle(await start(), ({ watcher }) => typicalLag(watcher));
    const heartbeat = { intervalMs: INTERVAL_MS, timeoutMs: TIMEOUT_MS };
    const watched = await withIdle(await start({ router: { heartbeat } }), async ({ watcher, holder }) => {
      const lagMs = await typicalLag(watcher);
      const alive = await health(watcher);
      holder.pause();
      const silentSince = Date.now();
      const isOver = async () => (await health(watcher)).connections === 1;
      await vi.waitUntil(isOver, { timeout: 30_000, interval: 200 });
      return { lagMs, silentSince, alive, after: await health(watcher) };
    });

    const { after, alive, silentSince, lagMs } = watched;
    expect(alive.connections, "none of the living was given up").toBe(CONNECTIONS + 1);
    expect(after.closes).toEqual({ [HEARTBEAT_LOST]: CONNECTIONS });
    const givenUpAfterMs = after.lastStaleAtMs - silentSince;
    const closedAfterMs = after.lastCloseAtMs - silentSince;
    expect(givenUpAfterMs).toBeGreaterThan(TIMEOUT_MS);
    expect(givenUpAfterMs).toBeLessThan(BOUND_MS);
    expect(closedAfterMs).toBeGreaterThanOrEqual(givenUpAfterMs);
    expect(closedAfterMs).toBeLessThan(BOUND_MS);
    expect(lagMs - baseline).toBeLessThanOrEqual(LAG_MS);
    findings.passed(name, {
      "peers closed with 4408": after.closes[HEARTBEAT_LOST] ?? 0,
      [`last one given up after, ms (bound ${BOUND_MS})`]: Math.round(givenUpAfterMs),
      [`last one closed after, ms (bound ${BOUND_MS})`]: Math.round(closedAfterMs),
      "longest loop lag, heartbeat off, ms": baseline.toFixed(1),
      "longest loop lag, heartbeat on, ms": lagMs.toFixed(1),
    });
  });
});

afterAll(() => {
  findings.publish("dead-peers", RUNTIMES.length, {
    what: "A process that holds idle connections is stopped with SIGSTOP: its connections stay open and nobody answers.",
    size: `${CONNECTIONS} idle connections, heartbeat every ${INTERVAL_MS} ms with a timeout of ${TIMEOUT_MS} ms, and one peer that lives.`,
    checked: `From the server's record of its connections: while the process ran, none was given up; once it was stopped, every one of its connections was closed with 4408 in time, and the living peer was not. The loop lag is the longest in ${WINDOW_MS} ms, the median of ${WINDOWS}; the heartbeat may add ${LAG_MS} ms to it.`,
    suite: "packages/wire/test/long/dead-peers.long.test.ts",
  });
});

async function withIdle<Result>(
  server: Program,
  use: (parts: { readonly watcher: Member; readonly holder: Program }) => Promise<Result>,
): Promise<Result> {
  const holder = await spawnProgram({
    command: process.execPath,
    args: [fixture("holder.ts")],
    env: { PORT: String(server.port), COUNT: String(CONNECTIONS) },
    readyTimeoutMs: 60_000,
  });
  try {
    const [watcher] = await gather(server.port, 1);
    if (watcher === undefined) throw new Error("The server accepted no peer.");
    return await use({ watcher, holder });
  } finally {
    await Promise.all([holder.kill(), server.kill()]);
  }
}

async function typicalLag(watcher: Member): Promise<number> {
  const longest: number[] = [];
  while (longest.length < WINDOWS) {
    watcher.send("FORGET");
    await new Promise((resolve) => setTimeout(resolve, WINDOW_MS));
    longest.push((await health(watcher)).longestLagMs);
  }
  return longest.sort((a, b) => a - b)[Math.floor(WINDOWS / 2)] ?? 0;
}

function health(watcher: Member): Promise<Health> {
  return watcher.ask<Health>("HEALTH", { collect: false });
}
