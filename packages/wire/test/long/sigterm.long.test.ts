import type { Program } from "@halyard/services";
import { afterAll, describe, expect, test } from "vitest";
import { gather, type Member } from "../fixtures/long/crowd.ts";
import { checkDrain, type DrainEntry } from "../fixtures/long/drain-history.ts";
import { Findings } from "../fixtures/long/findings.ts";
import { RUNTIMES } from "../fixtures/long/runtimes.ts";
import { Random, seedOf } from "../fixtures/random.ts";

const SOCKETS = 5_000;
const CALLS = 2_000;
/** One topic for every ten sockets, and the first socket of each topic publishes to it. */
const SOCKETS_PER_TOPIC = 10;
const PUBLISHERS = SOCKETS / SOCKETS_PER_TOPIC;
const PUBLISHES_PER_SECOND = 5_000;
const PUBLISH_EVERY_MS = (1_000 * PUBLISHERS) / PUBLISHES_PER_SECOND;
const DEADLINE_MS = 15_000;
const SHORT_DEADLINE_MS = 8_000;
const STUCK = 50;

const seed = seedOf("sigterm");
const findings = new Findings();

describe.each(RUNTIMES)("SIGTERM on $name", ({ name, start }) => {
  test(`with ${CALLS} requests in flight and publishes running loses no accepted request or publish`, async () => {
    const program = await start({ serve: { drainTimeoutMs: DEADLINE_MS } });
    const run = await terminate(program, { longestMs: 8_000, stuck: 0 });

    expect(run.problems.slice(0, 20), `${run.problems.length} problems`).toEqual([]);
    expect(run.answers).toEqual({ PAUSED: CALLS });
    expect(run.elapsedMs).toBeLessThan(DEADLINE_MS);
    findings.passed(name, {
      "requests in flight, all answered": run.answers["PAUSED"] ?? 0,
      "publishes accepted": run.accepted,
      "of them after SIGTERM": run.acceptedAfter,
      "deliveries, none missing": run.deliveries,
      "process gone after, ms": Math.round(run.elapsedMs),
    });
  });

  test(`with ${STUCK} handlers that never settle ends them at the deadline and counts them`, async () => {
    const program = await start({ serve: { drainTimeoutMs: SHORT_DEADLINE_MS, handleSignals: false } });
    const run = await terminate(program, { longestMs: 6_000, stuck: STUCK });

    expect(run.problems.slice(0, 20), `${run.problems.length} problems`).toEqual([]);
    expect(run.answers).toEqual({ PAUSED: CALLS, UNAVAILABLE: STUCK });
    expect(program.output()).toContain(`{"drained":{"forced":${STUCK}}}`);
    expect(run.elapsedMs).toBeGreaterThanOrEqual(SHORT_DEADLINE_MS);
    expect(run.elapsedMs).toBeLessThan(SHORT_DEADLINE_MS + 2_000);
    findings.passed(name, {
      "with stuck handlers: answered": run.answers["PAUSED"] ?? 0,
      "with stuck handlers: forced with UNAVAILABLE": run.answers["UNAVAILABLE"] ?? 0,
      [`with stuck handlers: gone after, ms (deadline ${SHORT_DEADLINE_MS})`]: Math.round(run.elapsedMs),
    });
  });
});

afterAll(() => {
  findings.publish("sigterm", 2 * RUNTIMES.length, {
    what: "A server receives SIGTERM while requests are in flight on every connection and publishes run; then again with handlers that never settle.",
    size: `${SOCKETS} sockets on ${PUBLISHERS} topics, ${CALLS} requests in flight, ${PUBLISHES_PER_SECOND} publishes a second offered by ${PUBLISHERS} publishers that continue until they are closed; in the second run also ${STUCK} stuck handlers.`,
    checked:
      "From the recorded history of all peers: every request in flight received exactly one terminal frame; every subscriber received every publisher's messages in order and without a gap; each acknowledged publish reached as many subscribers as the server reported; every connection was closed with 1012 and a delay.",
    suite: "packages/wire/test/long/sigterm.long.test.ts",
    seed,
  });
});

interface Run {
  readonly problems: readonly string[];
  /** Outcomes of the requests, by type or error code. */
  readonly answers: Readonly<Record<string, number>>;
  readonly accepted: number;
  readonly acceptedAfter: number;
  readonly deliveries: number;
  readonly elapsedMs: number;
}

async function terminate(
  program: Program,
  { longestMs, stuck }: { readonly longestMs: number; readonly stuck: number },
): Promise<Run> {
  const random = new Random(seed);
  const history: DrainEntry[] = [];
  const members = await gather(program.port, SOCKETS);
  for (const [i, member] of members.entries()) record(member, i, history);
  await Promise.all(members.map((member, i) => member.ask("JOIN", { topic: topicOf(i) })));

  let inFlight = 0;
  const call = async (member: number, type: string, payload?: unknown) => {
    inFlight++;
    const answer = await members[member]?.request(type, payload);
    inFlight--;
    history.push({ op: "call", member, type, answer });
  };
  const publishing = members.flatMap((member, i) =>
    i % SOCKETS_PER_TOPIC === 0 ? [publish(member, i, history)] : [],
  );
  const calls = members.flatMap((_, i) => [
    ...(i < CALLS ? [call(i, "PAUSE", { ms: random.int(longestMs / 2, longestMs) })] : []),
    ...(i < stuck ? [call(i, "HANG")] : []),
  ]);
  // Frames of a connection are handled in order, so everything sent before an answered echo has reached its handler.
  await Promise.all(members.map((member) => member.ask("ECHO", { nonce: 1 })));
  expect(inFlight, "all are still in flight when the signal comes").toBe(CALLS + stuck);

  const acceptedBefore = countAccepted(history);
  const startedAt = performance.now();
  process.kill(program.pid, "SIGTERM");
  await program.exited;
  const elapsedMs = performance.now() - startedAt;
  await Promise.all([...calls, ...publishing]);
  for (const [member, { ended }] of members.entries()) history.push({ op: "end", member, end: await ended });

  const answers: Record<string, number> = {};
  for (const entry of history) {
    if (entry.op !== "call" || entry.answer === undefined) continue;
    const { code } = (entry.answer.payload ?? {}) as { code?: string };
    const kind = code ?? entry.answer.type;
    answers[kind] = (answers[kind] ?? 0) + 1;
  }
  const accepted = countAccepted(history);
  return {
    problems: checkDrain(history),
    answers,
    accepted,
    acceptedAfter: accepted - acceptedBefore,
    deliveries: history.filter(({ op }) => op === "seen").length,
    elapsedMs,
  };
}

function record(peer: Member, member: number, history: DrainEntry[]): void {
  peer.onFrame = (frame) => {
    if (frame.type === "SEEN") {
      const { by, seq } = frame.payload as { by: number; seq: number };
      history.push({ op: "seen", member, by, seq });
    } else if (frame.type !== "$ws:hello" && frame.type !== "$ws:drain") {
      history.push({ op: "stray", member, frame });
    }
  };
}

function topicOf(member: number): string {
  return `news ${Math.floor(member / SOCKETS_PER_TOPIC)}`;
}

/** Publishes without waiting for the acknowledgement of the previous message. */
async function publish(peer: Member, member: number, history: DrainEntry[]): Promise<void> {
  const running: Promise<void>[] = [];
  const startedAt = performance.now();
  for (let seq = 1; peer.end === undefined; seq++) {
    const publishing = peer.request("PUBLISH", { topic: topicOf(member), by: member, seq });
    running.push(publishing.then((answer) => void history.push({ op: "publish", member, seq, answer })));
    // By the clock, because a timer of a busy process fires late.
    const waitMs = startedAt + seq * PUBLISH_EVERY_MS - performance.now();
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, waitMs)));
  }
  await Promise.all(running);
}

function countAccepted(history: readonly DrainEntry[]): number {
  return history.filter((entry) => entry.op === "publish" && entry.answer?.type === "PUBLISHED").length;
}
