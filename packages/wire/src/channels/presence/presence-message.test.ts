import { describe, expect, test } from "vitest";
import { createEntry, type Entry } from "./entry.ts";
import {
  decodePresence,
  encodeAnswer,
  encodeAsk,
  encodeChange,
  isOwnEcho,
  type Question,
  splitQuestions,
} from "./presence-message.ts";

const entryOf = (key: string, size = 0): Entry => createEntry({ key, name: "n".repeat(size) }, 5);
const MAX_BYTES = 70_000;

describe("messages of presence", () => {
  test("carry the changes of a room", () => {
    const change = {
      topic: "$c/a",
      previous: 3,
      version: 4,
      joined: [entryOf("ann")],
      left: ["ben"],
      isLast: true,
    };
    const [message, ...more] = encodeChange("p1", change);
    expect(more).toEqual([]);
    expect(decodePresence(message ?? "")).toEqual({ is: "changes", from: "p1", ...change });
  });

  test("are split so that each is at most 70 kB, and follow each other without a gap", () => {
    const joined = Array.from({ length: 1_000 }, (_, i) => entryOf(`member ${i}`, 1_000));
    const texts = encodeChange("p1", {
      topic: "$c/b",
      previous: 7,
      version: 9,
      joined,
      left: ["x"],
      isLast: true,
    });
    expect(texts.length).toBeGreaterThan(15);
    let version = 7;
    const keys: string[] = [];
    for (const [index, text] of texts.entries()) {
      expect(text.length).toBeLessThan(MAX_BYTES);
      const message = decodePresence(text);
      if (message?.is !== "changes") throw new Error("no changes");
      expect(message.previous).toBe(version);
      expect(message.version).toBeGreaterThan(version);
      expect(message.isLast).toBe(index === texts.length - 1);
      version = message.version;
      keys.push(...message.joined.map(({ key }) => key), ...message.left);
    }
    expect([version, keys.length]).toEqual([9, 1_001]);
  });

  test("answer with a room of any size in parts, and tell in a few bytes what is known already", () => {
    const entries = Array.from({ length: 2_000 }, (_, i) => entryOf(`member ${i}`, 500));
    const texts = encodeAnswer("p1", 7, 9, [
      { topic: "$c/a", version: 8, entries, holders: ["p2", "p3"] },
      { topic: "$c/b", version: 3, entries: [], holders: [] },
      { topic: "$c/c", version: 9, entries: undefined, holders: [] },
    ]);
    const found = new Map<string, Entry[] | undefined>();
    for (const [index, text] of texts.entries()) {
      expect(text.length).toBeLessThan(MAX_BYTES);
      const message = decodePresence(text);
      if (message?.is !== "answer") throw new Error("no answer");
      expect([message.id, message.version, message.part, message.parts]).toEqual([7, 9, index, texts.length]);
      for (const room of message.rooms)
        found.set(room.topic, room.entries && [...(found.get(room.topic) ?? []), ...room.entries]);
    }
    expect([...found]).toEqual([
      ["$c/a", entries],
      ["$c/b", []],
      ["$c/c", undefined],
    ]);
  });

  test("ask for many rooms in several messages", () => {
    const questions: Question[] = Array.from({ length: 3_000 }, (_, i) => ({
      topic: `$c/${i}/${"x".repeat(100)}`,
      version: i,
      isEmpty: i % 2 === 0,
      known: i % 3 === 0 ? [["p2", i]] : [],
    }));
    const parts = splitQuestions(questions);
    const texts = parts.map((rooms, id) => encodeAsk("p1", id, rooms));
    for (const text of texts) expect(text.length).toBeLessThan(MAX_BYTES);
    const decoded = texts.map((text) => decodePresence(text));
    expect(decoded.flatMap((message) => (message?.is === "ask" ? message.rooms : []))).toEqual(questions);
  });

  test("of this process are recognized without parsing", () => {
    const rooms: Question[] = [{ topic: "a", version: 1, isEmpty: true, known: [["p1", 1]] }];
    expect(isOwnEcho(encodeAsk("p1", 2, rooms), "p1")).toBe(true);
    expect(isOwnEcho(encodeAsk("p2", 2, rooms), "p1")).toBe(false);
  });

  test.each([
    "",
    "null",
    "[]",
    '{"type":"$ws:presence"',
    '{"type":"$ws:presence","is":"ask","id":1,"rooms":[]}',
    '{"type":"$ws:presence","is":"ask","from":"p","id":-1,"rooms":[]}',
    '{"type":"$ws:presence","is":"ask","from":"p","id":1,"rooms":[["$c/a",1,1]]}',
    '{"type":"$ws:presence","is":"ask","from":"p","id":1,"rooms":[["$c/a",1,1,[["q",-1]]]]}',
    `{"type":"$ws:presence","is":"ask","from":"p","id":1,"rooms":[["${"x".repeat(2_000)}",1,1,[]]]}`,
    '{"type":"$ws:presence","is":"changes","from":"p","topic":"$c/a","version":1,"previous":0,"joined":[]}',
    '{"type":"$ws:presence","is":"changes","from":"p","topic":"$c/a","version":1,"previous":0,"joined":[[1,{}]],"left":[]}',
    `{"type":"$ws:presence","is":"changes","from":"p","topic":"$c/a","version":1,"previous":0,"joined":[[1,{"key":"k","n":"${"x".repeat(3_000)}"}]],"left":[]}`,
    '{"type":"$ws:presence","is":"answer","from":"p","version":1,"id":1,"part":3,"parts":3,"rooms":[]}',
    '{"type":"$ws:presence","is":"answer","from":"p","version":1,"id":1,"part":0,"parts":1e9,"rooms":[]}',
    '{"type":"$ws:presence","is":"answer","from":"p","version":1,"id":1,"part":0,"parts":1,"rooms":[["$c/a",1,[""]]]}',
    '{"type":"$ws:presence","is":"unknown","from":"p","version":1,"id":1}',
    `{"type":"$ws:presence","is":"ask","from":"${"p".repeat(100)}","id":1,"rooms":[]}`,
  ])("that another program forged are ignored: %s", (text) => {
    expect(decodePresence(text)).toBeUndefined();
  });
});
