import { sized } from "@halyard/services";
import { afterAll, describe, expect, test } from "vitest";
import { runStaggered, STAGGERED_BROKERS } from "../fixtures/failover/staggered.ts";
import { Findings } from "../fixtures/long/findings.ts";

const PUBLISHERS = 4;
const SUBSCRIBERS = 4;
const TOPICS = sized(1_000, 60);
const QUIET_MS = sized(60_000, 2_000);
const SPLIT_MS = sized(10_000, 2_000);

const findings = new Findings();
const CASES = STAGGERED_BROKERS.flatMap((broker) =>
  (["subscribers", "publishers"] as const).map((first) => ({ broker, first, name: broker.name })),
);

describe.each(CASES)("a failover with $name that $first follow first", ({ broker, first }) => {
  test(`announces every message lost in ${SPLIT_MS} ms on different servers, with the last message ${QUIET_MS} ms old`, async () => {
    const { problems, figures } = await runStaggered({
      broker,
      first,
      publishers: PUBLISHERS,
      subscribers: SUBSCRIBERS,
      topics: TOPICS,
      quietMs: QUIET_MS,
      splitMs: SPLIT_MS,
    });
    expect(problems.slice(0, 20)).toEqual([]);
    findings.passed(`${broker.name}, ${first} first`, figures);
  });
});

afterAll(() => {
  findings.publish("staggered-failover", CASES.length, {
    what: "An address leads to another server of the broker: for some processes at once, for the others later. In between, publishers and subscribers use different servers, and the old server still accepts messages that no subscriber receives.",
    size: `${PUBLISHERS} publishers and ${SUBSCRIBERS} subscribers with their own connections, as in as many processes; ${TOPICS} topics; the last message before the failover is ${QUIET_MS / 1_000} s old; ${SPLIT_MS / 1_000} s on different servers, with messages on two thirds of the topics.`,
    checked:
      "Every lost message was announced to every subscriber after it was published and before the next message of its publisher on that topic, within 2 s of the time when all use the new server, without a further message. No other message was lost, and topics without a lost message got no announcement of their own.",
    suite: "packages/wire/test/long/staggered-failover.long.test.ts",
  });
});
