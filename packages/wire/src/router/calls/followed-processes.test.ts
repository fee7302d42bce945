import { expect, test } from "vitest";
import { MemoryPubSub } from "../../pubsub/memory.ts";
import type { Subscriber } from "../../pubsub/pubsub.ts";
import { FakeClock } from "../../testing/fake-clock.ts";
import { FollowedProcesses, HEARTBEATS } from "./followed-processes.ts";

/** A broker whose subscriptions can fail. */
class Broker extends MemoryPubSub {
  isBroken = false;
  readonly subscribed: string[] = [];

  override subscribe(topic: string, subscriber: Subscriber): void {
    if (this.isBroken) throw new Error("no reply of the broker");
    this.subscribed.push(topic);
    super.subscribe(topic, subscriber);
  }

  override unsubscribe(topic: string, subscriber: Subscriber): void {
    this.subscribed.splice(this.subscribed.indexOf(topic), 1);
    super.unsubscribe(topic, subscriber);
  }
}

function setup() {
  const clock = new FakeClock();
  const broker = new Broker();
  const processes = new FollowedProcesses(broker, clock);
  const deaths: string[] = [];
  const asked: string[] = [];
  const follow = (process: string) =>
    processes.follow(
      process,
      () => asked.push(process),
      () => deaths.push(process),
    );
  return {
    clock,
    broker,
    deaths,
    asked,
    follow,
    /** Follows a process that has answered. */
    confirmed(process: string) {
      const following = follow(process);
      following.confirm();
      return following;
    },
    async live(process: string, seconds: number) {
      for (let i = 0; i < seconds; i++) {
        await broker.publish(HEARTBEATS, process, {});
        await clock.advance(1_000);
      }
    },
  };
}

test("a process is dead 3.5 to 4 s after its last heartbeat, and its reader is told once", async () => {
  const { clock, confirmed, live, deaths } = setup();
  const runner = confirmed("a");
  await live("a", 10);
  await clock.advance(2_500);
  expect(runner.isDead).toBe(false);
  await clock.advance(500);
  expect(runner.isDead).toBe(true);
  await clock.advance(10_000);
  expect(deaths).toEqual(["a"]);
});

test("a process that does not answer whether it runs the call is dead after 2 to 2.5 s, although it sends heartbeats", async () => {
  const { clock, follow, live, asked, deaths } = setup();
  const runner = follow("a");
  expect(asked).toEqual(["a"]);
  await live("a", 2);
  expect([runner.isDead, asked.length]).toEqual([false, 5]);
  await clock.advance(500);
  expect([runner.isDead, deaths]).toEqual([true, ["a"]]);
});

test("a process that has answered is not asked again, until messages may be missing", async () => {
  const { clock, confirmed, live, asked } = setup();
  const runner = confirmed("a");
  await live("a", 5);
  expect(asked).toEqual(["a"]);
  runner.doubt();
  await clock.advance(250);
  expect(asked).toEqual(["a", "a"]);
  await clock.advance(3_000);
  expect(runner.isDead).toBe(false);
  await clock.advance(1_000);
  expect(runner.isDead).toBe(true);
});

test("a process lives while the subscription to heartbeats fails, and is judged once it is there", async () => {
  const { broker, clock, follow, live } = setup();
  broker.isBroken = true;
  const runner = follow("a");
  await clock.advance(10_000);
  expect(runner.isDead).toBe(false);
  broker.isBroken = false;
  runner.confirm();
  await live("a", 10);
  expect(runner.isDead).toBe(false);
  await clock.advance(4_000);
  expect(runner.isDead).toBe(true);
});

test("a process whose heartbeats waited while this one was busy is not dead", async () => {
  const { broker, clock, deaths, confirmed } = setup();
  confirmed("a");
  await broker.publish(HEARTBEATS, "a", {});
  // The first check after the pause runs before the sockets are read.
  const { now } = clock;
  let pausedMs = 0;
  clock.now = () => now.call(clock) + pausedMs;
  pausedMs = 20_000;
  await clock.advance(250);
  await broker.publish(HEARTBEATS, "a", {});
  await clock.advance(1_000);
  expect(deaths).toEqual([]);
});

test("each reader counts from its own beginning", async () => {
  const { clock, follow } = setup();
  const [first] = [follow("a"), await clock.advance(5_000)];
  const second = follow("a");
  expect([first.isDead, second.isDead]).toEqual([true, false]);
  await clock.advance(1_500);
  expect(second.isDead).toBe(false);
  await clock.advance(1_000);
  expect(second.isDead).toBe(true);
});

test("heartbeats are received only while a process is followed", async () => {
  const { broker, clock, follow } = setup();
  const runners = [follow("a"), follow("a"), follow("b")];
  await clock.advance(1_000);
  expect(broker.subscribed).toEqual([HEARTBEATS]);
  for (const runner of runners) runner.stop();
  await clock.advance(1_000);
  expect(broker.subscribed).toEqual([]);
  expect(clock.pendingTimers).toBe(0);
});
