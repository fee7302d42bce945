import { afterAll, describe, expect, test, vi } from "vitest";
import { gather, type Member } from "../fixtures/long/crowd.ts";
import { Findings } from "../fixtures/long/findings.ts";
import type { Health } from "../fixtures/long/program.ts";
import { checkReader, Reader } from "../fixtures/long/reader.ts";
import { RUNTIMES } from "../fixtures/long/runtimes.ts";

const SUBSCRIBERS = 1_000;
const STOPPED = 50;
/** Number of stopped readers that read again once the server drops messages. */
const RESUMED = STOPPED / 2;
/** 475,000 deliveries a second. Twice as many take more than the core of the readers, so nothing could be compared. */
const PER_SECOND = 500;
const BYTES = 1_000;
const WARM_UP_SECONDS = 3;
const ALONE_SECONDS = 15;
const TOGETHER_SECONDS = 60;
const SLOW_TIMEOUT_MS = 12_000;
/** How long the server drops messages before some readers resume, in ms. */
const SHEDDING_SECONDS = 8;
const BUDGET_BYTES = 256 * 2 ** 20;
const FACTOR = 1.5;
/** Above this, the run without stopped readers was itself disturbed, and the ratio would look too good. */
const SANE_P99_MS = 100;
const TRY_LATER = 1013;

const findings = new Findings();

describe.each(RUNTIMES)("slow consumers on $name", ({ name, start }) => {
  test(`do not slow down the others: ${STOPPED} stopped readers among ${SUBSCRIBERS} miss messages, receive a gap or are closed`, async () => {
    const program = await start({ router: { slowConsumerTimeoutMs: SLOW_TIMEOUT_MS } });
    const [control] = await gather(program.port, 1);
    if (control === undefined) throw new Error("The server accepted no peer.");
    const latency = new Latency();
    const readers = await joinAll(
      program.port,
      SUBSCRIBERS - STOPPED,
      ["warm-up", "alone", "together"],
      latency,
    );
    await feed(control, readers, "warm-up", WARM_UP_SECONDS);
    latency.reset();
    await feed(control, readers, "alone", ALONE_SECONDS);
    const alone = latency.reset();
    const stopped = await joinAll(program.port, STOPPED, ["together"], new Latency());
    for (const reader of stopped) reader.pause();
    const before = await health(control);

    const memory = watchMemory(control);
    const feeding = feed(control, readers, "together", TOGETHER_SECONDS);
    const isShedding = async () => (await health(control)).shed > STOPPED * PER_SECOND * SHEDDING_SECONDS;
    await vi.waitUntil(isShedding, { timeout: TOGETHER_SECONDS * 1_000, interval: 250 });
    // Measured up to here, because the other readers' process also reads what the resumed readers catch up with.
    const together = latency.reset();
    const resumed = stopped.slice(0, RESUMED);
    for (const reader of resumed) reader.resume();
    await feeding;
    const peakBytes = await memory.stop();
    const total = TOGETHER_SECONDS * PER_SECOND;
    await vi.waitUntil(() => resumed.every(({ last }) => last === total - 1), { timeout: 10_000 });
    const isClosed = async () => (await health(control)).closes[TRY_LATER] === STOPPED - RESUMED;
    await vi.waitUntil(isClosed, { timeout: 10_000, interval: 250 });
    const after = await health(control);
    for (const reader of [...readers, ...stopped]) reader.leave();
    await program.kill();

    expect(readers.filter(({ history }) => history.length !== 1)).toEqual([]);
    expect([...readers, ...resumed].flatMap(({ history }) => checkReader(history))).toEqual([]);
    const notified = resumed.filter(({ history }) => history.some(({ op }) => op === "gap"));
    expect(notified).toHaveLength(RESUMED);
    expect(after.closes).toEqual({ [TRY_LATER]: STOPPED - RESUMED });
    expect(peakBytes - before.rssBytes).toBeLessThan(BUDGET_BYTES);
    expect(alone.p99Ms, "the machine is too busy for the feed, so the runs cannot be compared").toBeLessThan(
      SANE_P99_MS,
    );
    expect(together.p99Ms).toBeLessThan(alone.p99Ms * FACTOR);
    findings.passed(name, {
      "p99 without stopped readers, ms": alone.p99Ms.toFixed(1),
      "p99 beside stopped readers, ms": together.p99Ms.toFixed(1),
      "deliveries to the others, none missing": readers.length * total,
      "publishes dropped": after.shed,
      "resumed readers that received a gap": notified.length,
      "closed with 1013": after.closes[TRY_LATER] ?? 0,
      "RSS grew by at most, MiB (budget 256)": Math.round((peakBytes - before.rssBytes) / 2 ** 20),
    });
  });
});

afterAll(() => {
  findings.publish("slow-consumers", RUNTIMES.length, {
    what: "Some of a topic's subscribers stop reading while a feed runs; half of them read again once the server drops messages, the others never do.",
    size: `${SUBSCRIBERS} subscribers, ${STOPPED} of them stopped, ${PER_SECOND} messages of 1 KB a second for ${TOGETHER_SECONDS} s, after ${ALONE_SECONDS} s without the stopped ones on the same server.`,
    checked: `From every reader's record of message numbers: the others missed nothing; readers that resumed missed no message without a \`$ws:gap\` and caught up; the others were closed with 1013. The others' p99 stayed within ${FACTOR} of the run without stopped readers, and the server's memory within its budget.`,
    suite: "packages/wire/test/long/slow-consumers.long.test.ts",
  });
});

/** A histogram, because ten million samples would use much memory. */
class Latency {
  readonly #perBucketUs = 100;
  #buckets = new Uint32Array(100_000);

  note(us: number): void {
    const bucket = Math.min(Math.max(0, Math.floor(us / this.#perBucketUs)), this.#buckets.length - 1);
    this.#buckets[bucket] = (this.#buckets[bucket] ?? 0) + 1;
  }

  /** The values recorded since the last call. */
  reset(): { readonly p99Ms: number } {
    const buckets = this.#buckets;
    this.#buckets = new Uint32Array(buckets.length);
    const count = buckets.reduce((sum, of) => sum + of, 0);
    let seen = 0;
    const at = buckets.findIndex((of) => {
      seen += of;
      return seen >= count * 0.99;
    });
    return { p99Ms: ((at + 1) * this.#perBucketUs) / 1_000 };
  }
}

async function joinAll(
  port: number,
  count: number,
  topics: readonly string[],
  latency: Latency,
): Promise<Reader[]> {
  const readers: Reader[] = [];
  const atOnce = 50;
  while (readers.length < count) {
    const some = Array.from({ length: Math.min(atOnce, count - readers.length) }, () =>
      new Reader(port, (us) => latency.note(us)).join(port, topics),
    );
    readers.push(...(await Promise.all(some)));
  }
  return readers;
}

/** Resolves once every reader has the last message. */
async function feed(
  control: Member,
  readers: readonly Reader[],
  topic: string,
  seconds: number,
): Promise<void> {
  for (const reader of readers) reader.forget();
  control.send("FEED", { topic, perSecond: PER_SECOND, bytes: BYTES, seconds });
  const last = PER_SECOND * seconds - 1;
  const isDone = () => readers.every((reader) => reader.last === last);
  await vi.waitUntil(isDone, { timeout: (2 * seconds + 10) * 1_000, interval: 100 });
}

function health(control: Member): Promise<Health> {
  return control.ask<Health>("HEALTH", { collect: false });
}

function watchMemory(control: Member): { stop(): Promise<number> } {
  let peakBytes = 0;
  let isStopped = false;
  const watching = (async () => {
    while (!isStopped) {
      peakBytes = Math.max(peakBytes, (await health(control)).rssBytes);
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
    return peakBytes;
  })();
  return {
    stop: () => {
      isStopped = true;
      return watching;
    },
  };
}
