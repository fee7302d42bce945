import { isFullSize, sized, spawnProgram } from "@halyard/services";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { disconnectAll, greeted, type Peer } from "./contract/adapter/peer.ts";
import { Attacker } from "./fixtures/hostile/attacker.ts";
import { Random, seedOf } from "./fixtures/random.ts";

const FRAMES = sized(1_000_000, 50_000);
const ATTACKERS = 20;
/** Maximum response time of the server: far above a usual response, far below a hang. */
const SANE_P99_MS = 500;
/** The same for the bystander, which shares a thread with all attackers. */
const SEEN_P99_MS = 3_000;
const MEBIBYTE = 2 ** 20;

interface Health {
  readonly memoryBytes: number;
  readonly connections: number;
  readonly errors: number;
  /** Longest delay of the event loop since the last read. */
  readonly delayP99Ms: number;
}

describe(`${FRAMES} hostile frames`, () => {
  let program: Awaited<ReturnType<typeof spawnProgram>>;
  let url: string;

  beforeAll(async () => {
    program = await spawnProgram({
      command: process.execPath,
      args: [
        "--expose-gc",
        "--conditions=@halyard/source",
        new URL("fixtures/hostile/program.ts", import.meta.url).pathname,
      ],
      env: { NODE_ENV: "production" },
    });
    url = `ws://127.0.0.1:${program.port}`;
  });
  afterAll(async () => {
    disconnectAll();
    await program.stop();
  });

  test("cost their senders an error or the connection and do not affect other connections", {
    timeout: sized(1_200_000, 60_000),
  }, async () => {
    const random = new Random(seedOf("hostile frames"));
    const bystander = await greeted(url);
    const attack = async (frames: number, part: number) => {
      const attackers = Array.from({ length: ATTACKERS }, (_, i) => new Attacker(url, random.fork(part + i)));
      await Promise.all(attackers.map((attacker) => attacker.run(frames / ATTACKERS)));
      return attackers;
    };
    // Caches and compiled code exist before memory is compared.
    await attack(FRAMES / 20, 1_000);
    const before = await settledHealth(bystander);

    const calls = watchCalls(bystander);
    const attackers = await attack(FRAMES, 0);
    const latencies = await calls.stop();
    const { delayP99Ms } = await healthOf(bystander);
    const after = await settledHealth(bystander);
    bystander.terminate();

    expect(attackers.flatMap(({ problems }) => problems).slice(0, 20)).toEqual([]);
    const families = new Set(attackers.flatMap(({ sent }) => Object.keys(sent)));
    expect(families.size).toBe(21);
    expect(latencies.length).toBeGreaterThan(100);
    const p99 = latencies.sort((a, b) => a - b)[Math.floor(latencies.length * 0.99)];
    expect(p99).toBeLessThan(SEEN_P99_MS);
    expect(delayP99Ms).toBeGreaterThan(0);
    if (isFullSize) expect(delayP99Ms).toBeLessThan(SANE_P99_MS);
    expect(after.memoryBytes).toBeLessThan(before.memoryBytes * 1.1 + 8 * MEBIBYTE);
    expect(after.errors - before.errors).toBeGreaterThan(FRAMES * 0.9);
    expect(program.output()).not.toMatch(/uncaught|unhandled|warning|^Node\.js v/im);
    // An attacker could fill the disk if each refused frame wrote a line.
    expect(program.output().split("\n").length).toBeLessThan(10);
  });

  test.each([
    { what: "pings", flood: () => pingFrames(1_000) },
    { what: "requests", flood: () => textFrames(1_000, { type: "ECHO", payload: { nonce: 1 } }) },
    { what: "invalid frames", flood: () => textFrames(1_000, { type: "x".repeat(100) }) },
  ])(
    "of a peer that sends $what and reads no response use no more memory than the buffer limit",
    {
      timeout: 60_000,
    },
    async ({ flood }) => {
      const bystander = await greeted(url);
      const before = await settledHealth(bystander);
      const deaf = await greeted(url);
      deaf.pause();
      const frames = flood();
      let sentBytes = 0;
      // Until the server closes the connection, or accepts far more than it may buffer.
      while (!deaf.isClosed && sentBytes < 40 * MEBIBYTE) {
        sentBytes += frames.length;
        await deaf.write(frames);
        expect(await bystander.request("ECHO", { nonce: 1 })).toMatchObject({ type: "ECHOED" });
        bystander.frames.length = 0;
      }
      const { memoryBytes } = await healthOf(bystander);
      expect(memoryBytes - before.memoryBytes).toBeLessThan(16 * MEBIBYTE);
      deaf.terminate();
      bystander.terminate();
    },
  );
});

async function healthOf(peer: Peer): Promise<Health> {
  return (await peer.request("HEALTH")).payload as Health;
}

/** Resolves once the server has closed all attackers. */
async function settledHealth(peer: Peer): Promise<Health> {
  await expect.poll(async () => (await healthOf(peer)).connections, { interval: 100 }).toBe(1);
  return await healthOf(peer);
}

/** Sends one request after the other until stopped and returns the time of each. */
function watchCalls(peer: Peer): { stop(): Promise<number[]> } {
  const latencies: number[] = [];
  let isStopped = false;
  const calling = (async () => {
    while (!isStopped) {
      const startedAt = performance.now();
      const nonce = latencies.length;
      const { payload } = await peer.request("ECHO", { nonce });
      expect(payload).toEqual({ nonce });
      latencies.push(performance.now() - startedAt);
      peer.frames.length = 0;
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

/** Client frames, masked with zeros. */
function textFrames(count: number, frame: object): Buffer {
  const text = Buffer.from(JSON.stringify(frame));
  const length = text.length < 126 ? [0x80 | text.length] : [0xfe, text.length >> 8, text.length & 255];
  return repeated(count, Buffer.concat([Buffer.from([0x81, ...length, 0, 0, 0, 0]), text]));
}

function pingFrames(count: number): Buffer {
  return repeated(
    count,
    Buffer.concat([Buffer.from([0x89, 0x80 | 125, 0, 0, 0, 0]), Buffer.alloc(125, "x")]),
  );
}

function repeated(count: number, frame: Buffer): Buffer {
  return Buffer.concat(Array.from({ length: count }, () => frame));
}
