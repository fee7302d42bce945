import { expect, test } from "vitest";
import { companionOf } from "../companion.ts";
import { HEARTBEATS } from "../transport.ts";
import { slotOf } from "./channel-slot.ts";
import { topicChannel, topicOf } from "./channels.ts";

test.each([
  ["halyard:", "$c/room/1"],
  ["halyard:", "$c/room/{1}"],
  ["{app}:", "$c/room/1"],
  ["{app}:", "$c/room/{1}"],
  ["", "room"],
])("what goes with a topic has a channel of its own in the slot of the topic: %s%s", (prefix, topic) => {
  const channels = [topic, companionOf(topic)].map((name) => topicChannel(prefix, name));
  const [own = "", companion = ""] = channels;
  expect(companion).not.toBe(own);
  expect(slotOf(companion)).toBe(slotOf(own));
  expect(channels.map((channel) => topicOf(prefix, channel))).toEqual([topic, companionOf(topic)]);
});

test.each(["$c/room/{}", "$c/room/}", "$c/room/{"])("also with braces that decide no slot: %s", (topic) => {
  const channel = topicChannel("p:", companionOf(topic));
  expect([topicOf("p:", channel), channel === topicChannel("p:", topic)]).toEqual([
    companionOf(topic),
    false,
  ]);
});

test("the heartbeats of the pub/sub are no topic", () => {
  expect(topicOf("p:", topicChannel("p:", HEARTBEATS))).toBe(HEARTBEATS);
  expect(topicChannel("p:", "h")).not.toBe(topicChannel("p:", HEARTBEATS));
});
