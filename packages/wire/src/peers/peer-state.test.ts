import { describe, expect, test } from "vitest";
import { decodePeer, encodePeer, type PeerMessage } from "./peer-message.ts";
import { PeerState, type Sign } from "./peer-state.ts";

const TICK_MS = 100;

/** Processes in one world, whose messages arrive at once, unless they are cut off or dead. */
class World {
  now = 0;
  readonly processes: Process[] = [];
  /** Signs of life that were received. */
  deliveries = 0;

  start(count: number): Process[] {
    const started = Array.from({ length: count }, () => new Process(this));
    for (const process of started) {
      process.state.live(this.now);
      this.now++;
    }
    return started;
  }

  pass(ms: number): void {
    for (const end = this.now + ms; this.now < end; ) {
      this.now += TICK_MS;
      for (const process of this.processes) if (!process.isPaused) process.state.tick(this.now);
    }
  }
}

class Process {
  readonly id: string;
  readonly state: PeerState;
  readonly gone: string[] = [];
  readonly left: [string, number][] = [];
  asked = 0;
  isCutOff = false;
  isPaused = false;
  readonly #waiting: PeerMessage[] = [];
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
    this.id = `p${world.processes.push(this)}`;
    this.state = new PeerState(
      this.id,
      {
        say: (sign, to) => this.#say(sign, to),
        asked: () => this.asked++,
        told: () => undefined,
        leaving: (peer, graceMs) => this.left.push([peer, graceMs]),
        gone: (peer) => this.gone.push(peer),
        changed: () => undefined,
      },
      true,
    );
  }

  #say(sign: Sign, to: string | undefined): void {
    if (this.isCutOff) return;
    const message = { from: this.id, is: "alive", ...sign } as const;
    for (const process of this.#world.processes)
      if (to === undefined || process.id === to) process.receive(message);
  }

  receive(message: PeerMessage): void {
    if (this.isCutOff) return;
    if (this.isPaused) return void this.#waiting.push(message);
    this.#world.deliveries++;
    this.state.receive(message, this.#world.now);
  }

  die(): void {
    this.isCutOff = true;
    this.isPaused = true;
  }

  /** As an event loop: a timer runs before the sockets are read. */
  resume(): void {
    this.isPaused = false;
    this.state.tick(this.#world.now);
    for (const message of this.#waiting.splice(0)) this.receive(message);
  }
}

/** How long the others take to notice a kill, at least and at most. */
function noticedAfter(count: number): number[] {
  const world = new World();
  const [victim, ...others] = world.start(count);
  world.pass(60_000);
  victim?.die();
  const killedAt = world.now;
  const noticed = new Map<Process, number>();
  while (noticed.size < others.length && world.now < killedAt + 60_000) {
    world.pass(TICK_MS);
    for (const process of others)
      if (process.gone.length > 0 && !noticed.has(process)) noticed.set(process, world.now - killedAt);
  }
  return [Math.min(...noticed.values()), Math.max(...noticed.values()), noticed.size];
}

describe("a process that is killed", () => {
  test.each([
    [2, 3_000],
    [20, 3_000],
    [100, 4_000],
    [200, 18_000],
  ])("of %i is noticed by all others within %i ms after its last sign of life", (count, most) => {
    const [least = 0, latest = 0, noticed] = noticedAfter(count);
    expect(noticed).toBe(count - 1);
    expect(least).toBeGreaterThan(2_000);
    expect(latest).toBeLessThanOrEqual(most + TICK_MS);
  });
});

describe("signs of life", () => {
  test.each([5, 60, 100, 200])("of %i processes are at most 10,000 deliveries a second", (count) => {
    const world = new World();
    world.start(count);
    world.pass(60_000);
    world.deliveries = 0;
    world.pass(60_000);
    expect(world.deliveries / 60).toBeLessThanOrEqual(10_000);
    expect(world.deliveries / 60).toBeGreaterThanOrEqual(Math.min(2 * count ** 2, 10_000) * 0.8);
    expect(world.processes.flatMap(({ gone }) => gone)).toEqual([]);
  });

  test("are sent only while they are needed; a question for what was missed needs none", () => {
    const world = new World();
    const [asking, other] = [new Process(world), new Process(world)];
    asking.state.hello(world.now);
    world.pass(10_000);
    expect([world.deliveries, other.asked]).toEqual([2, 1]);
    other.state.live(world.now);
    expect(asking.state.ids.has(other.id)).toBe(false);
    other.state.rest();
    world.deliveries = 0;
    world.pass(10_000);
    expect(world.deliveries).toBe(0);
  });
});

describe("a process that is cut off", () => {
  test("takes no process for dead, for as long as it lasts and 4 s longer", () => {
    const world = new World();
    const [here, there] = world.start(2);
    if (here === undefined || there === undefined) throw new Error("no processes");
    world.pass(5_000);
    for (const process of [here, there]) process.isCutOff = true;
    world.pass(1_400);
    expect(here.state.isCutOff).toBe(false);
    world.pass(600);
    expect(here.state.isCutOff).toBe(true);
    world.pass(60_000);
    here.isCutOff = false;
    world.pass(3_500);
    expect([here.state.isCutOff, here.gone]).toEqual([false, []]);
    there.isCutOff = false;
    world.pass(60_000);
    expect([here.gone, there.gone]).toEqual([[], []]);
  });

  test.each([2, 89, 100, 200])(
    "by a pause of any length is one of %i and takes no process for dead",
    (count) => {
      const world = new World();
      const [paused] = world.start(count);
      world.pass(8_000);
      if (paused === undefined) throw new Error("no process");
      const deadMs = count === 200 ? 14_000 : 3_000;
      for (const share of [0.5, 0.65, 0.7, 0.75, 0.85, 1, 1.5]) {
        paused.isPaused = true;
        world.pass(share * deadMs);
        paused.resume();
        expect(paused.gone).toEqual([]);
        world.pass(deadMs / 3 + 130);
      }
    },
  );
});

test("processes that were expected and are never heard are dead", () => {
  const world = new World();
  const [here] = world.start(1);
  world.pass(1_000);
  here?.state.expect("unheard", world.now);
  world.pass(2_900);
  expect(here?.gone).toEqual([]);
  world.pass(200);
  expect(here?.gone).toEqual(["unheard"]);
});

test("of more than 1,000 invented ids, the rest do not count, and a goodbye is told", () => {
  const world = new World();
  const [here] = world.start(1);
  const forge = (message: PeerMessage) => {
    const decoded = decodePeer(encodePeer(message));
    if (decoded !== undefined) here?.receive(decoded);
  };
  for (let i = 0; i < 2_000; i++) forge({ from: `forged ${i}`, is: "alive", everyMs: 1e12, hello: false });
  expect(here?.state.ids.size).toBe(1_000);
  forge({ from: "forged 1", is: "bye", graceMs: 5 });
  expect(here?.left).toEqual([["forged 1", 5]]);
  world.pass(500_000);
  expect(here?.state.ids.size).toBe(0);
});

test.each([
  "",
  "null",
  '{"type":"$ws:peer"',
  '{"type":"$ws:peer","is":"alive","everyMs":500}',
  '{"type":"$ws:peer","is":"alive","from":"p","everyMs":-1}',
  '{"type":"$ws:peer","is":"alive","from":"p","everyMs":"500"}',
  '{"type":"$ws:peer","is":"bye","from":"p"}',
  '{"type":"$ws:peer","is":"unknown","from":"p","everyMs":500}',
  `{"type":"$ws:peer","is":"alive","from":"${"p".repeat(100)}","everyMs":500}`,
])("a message that another program forged is ignored: %s", (text) => {
  expect(decodePeer(text)).toBeUndefined();
});
