import { describe, expect, test } from "vitest";
import { createEntry, type Entry } from "./entry.ts";
import {
  decodePresence,
  encodeAnswer,
  encodeAsk,
  encodeChanges,
  isOwnEcho,
  splitTopics,
} from "./presence-message.ts";

const entryOf = (key: string, size = 0): Entry => createEntry({ key, name: "n".repeat(size) }, 5);
const MAX_BYTES = 70_000;

describe("messages of presence", () => {
  test("carry the changes of a batch", () => {
    const change = { topic: "$c/a", version: 4, joined: [entryOf("ann")], left: ["ben"] };
    const [message, ...more] = encodeChanges("p1", { previous: 3, version: 4, changes: [change] });
    expect(more).toEqual([]);
    expect(decodePresence(message ?? "")).toEqual({
      is: "changes",
      from: "p1",
      previous: 3,
      version: 4,
      changes: [change],
    });
  });

  test("are split so that each is at most 70 kB, and follow each other without a gap", () => {
    const joined = Array.from({ length: 1_000 }, (_, i) => entryOf(`member ${i}`, 1_000));
    const changes = [
      { topic: "$c/a", version: 1, joined: [entryOf("ann")], left: [] },
      { topic: "$c/b", version: 2, joined, left: ["x"] },
      { topic: "$c/c", version: 3, joined: [], left: ["y"] },
    ];
    const texts = encodeChanges("p1", { previous: 0, version: 3, changes });
    expect(texts.length).toBeGreaterThan(15);
    let version = 0;
    const keys: string[] = [];
    for (const text of texts) {
      expect(text.length).toBeLessThan(MAX_BYTES);
      const message = decodePresence(text);
      if (message?.is !== "changes") throw new Error("no changes");
      expect(message.previous).toBe(version);
      expect(message.version).toBeGreaterThan(version);
      version = message.version;
      for (const change of message.changes) keys.push(...change.joined.map(({ key }) => key), ...change.left);
    }
    expect(version).toBe(3);
    expect(keys.length).toBe(1_003);
  });

  test("answer with a state of any size in parts", () => {
    const entries = Array.from({ length: 2_000 }, (_, i) => entryOf(`member ${i}`, 500));
    const topics = new Map<string, readonly Entry[]>([
      ["$c/a", entries],
      ["$c/b", []],
    ]);
    const texts = encodeAnswer("p1", 7, { version: 9, topics, isComplete: false });
    const found: Entry[] = [];
    for (const [index, text] of texts.entries()) {
      expect(text.length).toBeLessThan(MAX_BYTES);
      const message = decodePresence(text);
      if (message?.is !== "answer") throw new Error("no answer");
      expect([message.id, message.part, message.parts]).toEqual([7, index, texts.length]);
      found.push(...(message.topics.get("$c/a") ?? []));
    }
    expect(found).toEqual(entries);
  });

  test("request many topics in several messages", () => {
    const topics = Array.from({ length: 3_000 }, (_, i) => `$c/${i}/${"x".repeat(100)}`);
    const parts = splitTopics(topics);
    expect(parts.flat()).toEqual(topics);
    for (const part of parts) expect(encodeAsk("p1", 1, 2, part).length).toBeLessThan(MAX_BYTES);
  });

  test("of this process are recognized without parsing", () => {
    expect(isOwnEcho(encodeAsk("p1", 1, 2, ["$c/a"]), "p1")).toBe(true);
    expect(isOwnEcho(encodeAsk("p2", 1, 2, ["$c/a"]), "p1")).toBe(false);
  });

  test.each([
    "",
    "null",
    "[]",
    '{"type":"$ws:presence"',
    '{"type":"$ws:presence","is":"since","version":1,"id":1,"since":0}',
    '{"type":"$ws:presence","is":"since","from":"p","version":-1,"id":1,"since":0}',
    '{"type":"$ws:presence","is":"since","from":"p","version":"1","id":1,"since":0}',
    '{"type":"$ws:presence","is":"changes","from":"p","version":1,"previous":0,"changes":[["$c/a",1]]}',
    '{"type":"$ws:presence","is":"changes","from":"p","version":1,"previous":0,"changes":[["$c/a",1,[[1,{}]],[]]]}',
    `{"type":"$ws:presence","is":"changes","from":"p","version":1,"previous":0,"changes":[["$c/a",1,[[1,{"key":"k","n":"${"x".repeat(3_000)}"}]],[]]]}`,
    `{"type":"$ws:presence","is":"ask","from":"p","version":1,"id":1,"topics":["${"x".repeat(2_000)}"]}`,
    '{"type":"$ws:presence","is":"answer","from":"p","version":1,"id":1,"part":3,"parts":3,"topics":[]}',
    '{"type":"$ws:presence","is":"answer","from":"p","version":1,"id":1,"part":0,"parts":1e9,"topics":[]}',
    '{"type":"$ws:presence","is":"unknown","from":"p","version":1,"id":1}',
    `{"type":"$ws:presence","is":"since","from":"${"p".repeat(100)}","version":1,"id":1,"since":0}`,
  ])("that another program forged are ignored: %s", (text) => {
    expect(decodePresence(text)).toBeUndefined();
  });
});
