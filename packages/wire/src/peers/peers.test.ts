import { describe, expect, test } from "vitest";
import { MemoryPubSub } from "../pubsub/memory.ts";
import type { PublishResult, Subscriber } from "../pubsub/pubsub.ts";
import { FakeClock } from "../testing/fake-clock.ts";
import { decodePeer } from "./peer-message.ts";
import { claimPeers, type PeerReader, Peers, peersOf } from "./peers.ts";

/** A broker whose subscriptions and publishes can fail. */
class Broker extends MemoryPubSub {
  readonly spansProcesses = true;
  isBroken = false;
  readonly subscribed: string[] = [];
  readonly published: string[] = [];

  override subscribe(topic: string, subscriber: Subscriber): void {
    if (this.isBroken) throw new Error("no reply of the broker");
    this.subscribed.push(topic);
    super.subscribe(topic, subscriber);
  }

  override unsubscribe(topic: string, subscriber: Subscriber): void {
    this.subscribed.splice(this.subscribed.indexOf(topic), 1);
    super.unsubscribe(topic, subscriber);
  }

  override publish(topic: string, frame: string, options: object): PublishResult {
    if (this.isBroken) return { ok: false, error: "DISCONNECTED", retryable: true };
    this.published.push(frame);
    return super.publish(topic, frame, options);
  }
}

/** What a reader was told. */
class Reader implements PeerReader {
  readonly log: string[] = [];
  readonly ticks: number[] = [];
  asked = () => void this.log.push("asked");
  missed = () => void this.log.push("missed");
  received = (text: string) => void this.log.push(text);
  tick = (now: number) => void this.ticks.push(now);
}

function setup() {
  const clock = new FakeClock();
  const broker = new Broker();
  return { clock, broker, peers: new Peers(broker, clock), reader: new Reader() };
}

describe("a process", () => {
  test("whose readers only ask for what they missed sends no signs of life", async () => {
    const { clock, broker, peers, reader } = setup();
    peers.join(reader, false);
    await clock.advance(60_000);
    expect(broker.published.map((text) => decodePeer(text))).toEqual([
      { from: peers.id, is: "alive", everyMs: 0, hello: true },
    ]);
    expect([broker.subscribed, reader.ticks]).toEqual([[""], []]);
  });

  test("sends signs of life while a reader needs to know who lives, and no longer", async () => {
    const { clock, broker, peers, reader } = setup();
    peers.join(reader, false);
    peers.join(reader, true);
    await clock.advance(10_000);
    expect(broker.published.length).toBeGreaterThan(19);
    expect([broker.subscribed.length, reader.ticks.length > 90]).toEqual([2, true]);
    peers.leave(reader);
    const before = broker.published.length;
    await clock.advance(10_000);
    expect([broker.published.length - before, broker.subscribed]).toEqual([0, []]);
    expect(clock.pendingTimers).toBe(0);
  });

  test("asks once the broker takes its subscriptions, however often they fail", async () => {
    const { clock, broker, peers, reader } = setup();
    const other = new Reader();
    new Peers(broker, clock).join(other, false);
    broker.isBroken = true;
    peers.join(reader, true);
    await clock.advance(5_000);
    expect(other.log).toEqual([]);
    broker.isBroken = false;
    await clock.advance(1_000);
    expect(other.log).toEqual(["asked"]);
  });

  test("that may have missed messages tells its readers, and asks until the broker takes the question", async () => {
    const { clock, broker, peers, reader } = setup();
    const other = new Reader();
    new Peers(broker, clock).join(other, false);
    peers.join(reader, false);
    await clock.advance(100);
    other.log.length = 0;
    broker.isBroken = true;
    peers.missed();
    await clock.advance(3_000);
    expect([reader.log.includes("missed"), other.log]).toEqual([true, []]);
    broker.isBroken = false;
    await clock.advance(300);
    expect(other.log).toEqual(["asked"]);
  });

  test("receives what readers of another one tell to all, or to it alone", async () => {
    const { clock, broker, peers, reader } = setup();
    const sender = new Peers(broker, clock);
    peers.join(reader, true);
    await sender.tell("to all");
    await sender.tell("to one", peers.id);
    await sender.tell("to another", sender.id);
    expect(reader.log).toEqual(["to all", "to one"]);
  });
});

test("what uses one pub/sub is one process, but a second server tells of itself as another", () => {
  const broker = new Broker();
  const shared = peersOf(broker);
  expect(peersOf(broker)).toBe(shared);
  expect(claimPeers(broker, shared.clock)).toBe(shared);
  expect(claimPeers(broker, shared.clock)).not.toBe(shared);
});
