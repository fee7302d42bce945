import { afterAll, describe, expect, test, vi } from "vitest";
import { gather, type Member } from "../fixtures/long/crowd.ts";
import { Findings } from "../fixtures/long/findings.ts";
import { hostileBytes, MUTATIONS } from "../fixtures/long/hostile-bytes.ts";
import { attack, type StreamEntry } from "../fixtures/long/hostile-stream.ts";
import type { Health } from "../fixtures/long/program.ts";
import { RUNTIMES } from "../fixtures/long/runtimes.ts";
import { Random, seedOf } from "../fixtures/random.ts";

/** About 1,000,000 frames. */
const STREAMS = 350_000;
const WARM_UP = 10_000;
const AT_ONCE = 50;
const MEBIBYTE = 2 ** 20;
/** Far above a usual response time, far below a hang. */
const SANE_P99_MS = 500;

const seed = seedOf("hostile bytes");
const findings = new Findings();

describe.each(RUNTIMES)("hostile bytes on $name", ({ name, start }) => {
  test(`in ${STREAMS} streams cost their senders the connection and do not affect other connections`, {
    timeout: 1_800_000,
  }, async () => {
    const program = await start({ router: { limits: { maxPayloadBytes: 200_000 } } });
    const random = new Random(seed);
    const [bystander] = await gather(program.port, 1);
    if (bystander === undefined) throw new Error("The server accepted no peer.");
    // Caches and compiled code exist before memory is compared.
    await attackMany(program.port, random.fork(1), WARM_UP);
    const before = await settledHealth(bystander);

    const calls = watchCalls(bystander);
    const history = await attackMany(program.port, random, STREAMS);
    const latencies = (await calls.stop()).sort((a, b) => a - b);
    const after = await settledHealth(bystander);
    const output = program.output();
    bystander.leave();
    await program.stop();

    expect(checkStreams(history).slice(0, 20)).toEqual([]);
    const p99 = latencies[Math.floor(latencies.length * 0.99)] ?? Number.POSITIVE_INFINITY;
    expect(p99).toBeLessThan(SANE_P99_MS);
    expect(after.heapBytes).toBeLessThan(before.heapBytes * 1.1 + 8 * MEBIBYTE);
    expect(after.rssBytes).toBeLessThan(before.rssBytes + 64 * MEBIBYTE);
    expect(output).not.toMatch(/uncaught|unhandled|warning|^Node\.js v/im);
    expect(output.split("\n").length).toBeLessThan(10);
    const closedWith = (code: number) => history.filter(({ closeCode }) => closeCode === code).length;
    findings.passed(name, {
      streams: history.length,
      "frames before the mutations": history.reduce((sum, { frames }) => sum + frames, 0),
      "bytes sent": history.reduce((sum, { bytes }) => sum + bytes, 0),
      "closed with 1002 (protocol)": closedWith(1002),
      "closed with 1007 (UTF-8)": closedWith(1007),
      "closed with 1009 (too big)": closedWith(1009),
      "bystander's requests, all answered": latencies.length,
      "their p99, ms": p99.toFixed(1),
      "heap before, MiB": (before.heapBytes / MEBIBYTE).toFixed(1),
      "heap after, MiB": (after.heapBytes / MEBIBYTE).toFixed(1),
      "RSS before, MiB": Math.round(before.rssBytes / MEBIBYTE),
      "RSS after, MiB": Math.round(after.rssBytes / MEBIBYTE),
    });
  });
});

afterAll(() => {
  findings.publish("hostile-bytes", RUNTIMES.length, {
    what: `Connections that send WebSocket frames with one to three mutations (${MUTATIONS.join(", ")}), split into random chunks, and then end with a FIN or a reset; beside them one peer sends ordinary requests.`,
    size: `${STREAMS} streams, each on its own connection, ${AT_ONCE} concurrently, after ${WARM_UP} to warm up.`,
    checked:
      "From the record of every stream: the server accepted each one, closed each one that had ended its side, and sent only well-formed frames. The other peer received every response, the process wrote no warning and did not exit, its memory returned to the earlier level, and no connection was left.",
    suite: "packages/wire/test/long/hostile-bytes.long.test.ts",
    seed,
  });
});

async function attackMany(port: number, random: Random, count: number): Promise<StreamEntry[]> {
  const history: StreamEntry[] = [];
  let next = 0;
  const worker = async () => {
    while (next < count) {
      const own = random.fork(next++);
      history.push(await attack(port, hostileBytes(own), own));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return history;
}

function checkStreams(history: readonly StreamEntry[]): string[] {
  const met = new Set(history.flatMap(({ mutations }) => mutations));
  const unmet = MUTATIONS.filter((mutation) => !met.has(mutation)).map(
    (mutation) => `no stream had: ${mutation}`,
  );
  return history.reduce((problems, { mutations, upgraded, ended, malformed }, i) => {
    const say = (what: string) => problems.push(`stream ${i} (${mutations.join(", ")}) ${what}`);
    if (!upgraded) say("was not let in");
    if (ended === "held") say("was not let go of");
    if (malformed !== undefined) say(`was sent ${malformed}`);
    return problems;
  }, unmet);
}

/** Resolves once the server has closed all attackers. */
async function settledHealth(peer: Member): Promise<Health> {
  const health = () => peer.ask<Health>("HEALTH", { collect: true });
  const isQuiet = async () => (await health()).connections === 1;
  await vi.waitUntil(isQuiet, { timeout: 10_000, interval: 200 });
  return await health();
}

/** Sends one request after the other until stopped and returns the time of each. */
function watchCalls(peer: Member): { stop(): Promise<number[]> } {
  const latencies: number[] = [];
  let isStopped = false;
  const calling = (async () => {
    while (!isStopped) {
      const startedAt = performance.now();
      const nonce = latencies.length;
      expect(await peer.ask("ECHO", { nonce })).toEqual({ nonce });
      latencies.push(performance.now() - startedAt);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    return latencies;
  })();
  return {
    stop: () => {
      isStopped = true;
      return calling;
    },
  };
}
