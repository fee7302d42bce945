import type { Program } from "@halyard/services";
import { afterAll, describe, expect, test, vi } from "vitest";
import { gather, type Member } from "../fixtures/long/crowd.ts";
import { Findings } from "../fixtures/long/findings.ts";
import type { Health, ProgramOptions } from "../fixtures/long/program.ts";
import { RUNTIMES, type Runtime } from "../fixtures/long/runtimes.ts";
import { type Place, SILENCES, type Silence } from "../fixtures/long/silences.ts";

const CONNECTIONS = 10_000;
const INTERVAL_MS = 1_000;
const TIMEOUT_MS = 500;
const BOUND_MS = INTERVAL_MS + TIMEOUT_MS + 1_000;
const LAG_MS = 10;
/** Each round includes at least one sweep over every connection, so that one pause of the machine decides nothing. */
const WINDOWS = 7;
const WINDOW_MS = 1_500;
const HEARTBEAT_LOST = 4408;

const findings = new Findings();
const CASES = RUNTIMES.flatMap((runtime) =>
  SILENCES.map((silence) => ({ runtime, silence, name: `${runtime.name}, ${silence.name}` })),
);

for (const { name, refusal } of SILENCES)
  if (refusal !== undefined) console.warn(`Skipped: ${name}. ${refusal}`);

describe.each(CASES)("the heartbeat on $name", ({ runtime, silence, name }) => {
  test.skipIf(silence.refusal !== undefined)(
    `closes ${CONNECTIONS} silent peers within interval + timeout + 1 s and does not block the event loop`,
    async () => {
      const baseline = await withIdle(runtime, silence, {}, ({ watcher }) => typicalLag(watcher));
      const heartbeat = { intervalMs: INTERVAL_MS, timeoutMs: TIMEOUT_MS };
      const watched = await withIdle(runtime, silence, { heartbeat }, async ({ watcher, place, holder }) => {
        const lagMs = await typicalLag(watcher);
        const alive = await health(watcher);
        const silentSince = Date.now();
        await place.fallSilent(holder);
        const isOver = async () => (await health(watcher)).connections === 1;
        await vi.waitUntil(isOver, { timeout: 30_000, interval: 200 });
        return {
          lagMs,
          silentSince,
          alive,
          after: await health(watcher),
          believed: place.believed?.(holder),
        };
      });

      const { after, alive, silentSince, lagMs, believed } = watched;
      expect(alive.connections, "no live peer was closed").toBe(CONNECTIONS + 1);
      expect(after.closes).toEqual({ [HEARTBEAT_LOST]: CONNECTIONS });
      expect(believed ?? CONNECTIONS, "the peers received no close").toBe(CONNECTIONS);
      const detectedAfterMs = after.lastStaleAtMs - silentSince;
      const closedAfterMs = after.lastCloseAtMs - silentSince;
      expect(detectedAfterMs).toBeGreaterThan(TIMEOUT_MS);
      expect(detectedAfterMs).toBeLessThan(BOUND_MS);
      expect(closedAfterMs).toBeGreaterThanOrEqual(detectedAfterMs);
      expect(closedAfterMs).toBeLessThan(BOUND_MS);
      expect(lagMs - baseline).toBeLessThanOrEqual(LAG_MS);
      findings.passed(name, {
        "peers closed with 4408": after.closes[HEARTBEAT_LOST] ?? 0,
        [`last one detected after, ms (bound ${BOUND_MS})`]: Math.round(detectedAfterMs),
        [`last one closed after, ms (bound ${BOUND_MS})`]: Math.round(closedAfterMs),
        "longest loop lag, heartbeat off, ms": baseline.toFixed(1),
        "longest loop lag, heartbeat on, ms": lagMs.toFixed(1),
      });
    },
  );
});

afterAll(() => {
  findings.publish("dead-peers", CASES.length, {
    what: "A process holds idle connections and becomes silent. Either SIGSTOP suspends it, so that its connections stay open without responses; or it runs in its own network namespace, which drops every packet from then on, so that its kernel acknowledges nothing and sends no close.",
    size: `${CONNECTIONS} idle connections, heartbeat every ${INTERVAL_MS} ms with a timeout of ${TIMEOUT_MS} ms, and one live peer.`,
    checked: `From the server's record of its connections: while the process responded, no connection was closed; after it became silent, every one of its connections was closed with 4408 in time, and the live peer was not. Where packets were dropped, the other kernel still considered every connection open afterwards. The loop lag is the time that the server was busy while a timer was due: the longest in ${WINDOW_MS} ms, the median of ${WINDOWS}; the heartbeat may add ${LAG_MS} ms to it.`,
    suite: "packages/wire/test/long/dead-peers.long.test.ts",
  });
});

interface Parts {
  /** A peer that stays alive. */
  readonly watcher: Member;
  readonly place: Place;
  readonly holder: Program;
}

async function withIdle<Result>(
  runtime: Runtime,
  silence: Silence,
  router: NonNullable<ProgramOptions["router"]>,
  use: (parts: Parts) => Promise<Result>,
): Promise<Result> {
  await using cleanup = new AsyncDisposableStack();
  const place = await silence.prepare();
  cleanup.defer(() => place.leave());
  const server = await runtime.start({ router, serve: { host: place.host } });
  cleanup.defer(() => server.kill());
  const holder = await place.hold(server.port, CONNECTIONS);
  cleanup.defer(() => holder.kill());
  const [watcher] = await gather(server.port, 1);
  if (watcher === undefined) throw new Error("The server accepted no peer.");
  return await use({ watcher, place, holder });
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
