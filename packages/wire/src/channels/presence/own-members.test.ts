import { describe, expect, test } from "vitest";
import { createEntry } from "./entry.ts";
import { OwnMembers } from "./own-members.ts";

const entryOf = (key: string, name = key) => createEntry({ key, name }, 1);

describe("the members of a process", () => {
  test("have no change when they are as they were published", () => {
    const own = new OwnMembers();
    own.set("a", "ann", entryOf("ann"));
    own.set("a", "ann", undefined);
    expect(own.flush()).toBeUndefined();
    own.set("a", "ann", entryOf("ann"));
    expect(own.flush()).toMatchObject({ previous: 0, version: 1 });
    own.set("a", "ann", undefined);
    own.set("a", "ann", entryOf("ann"));
    expect(own.flush()).toBeUndefined();
    own.set("a", "ann", entryOf("ann", "Anna"));
    expect(own.flush()?.changes).toEqual([
      { topic: "a", version: 2, joined: [entryOf("ann", "Anna")], left: [] },
    ]);
  });

  test("of a topic that became empty are still told to a process that missed it", () => {
    const own = new OwnMembers();
    own.set("a", "ann", entryOf("ann"));
    own.set("b", "ben", entryOf("ben"));
    own.flush();
    own.set("a", "ann", undefined);
    own.flush();
    expect(own.statesSince(2)).toEqual({ version: 3, topics: new Map([["a", []]]), isComplete: false });
    expect([...own.statesSince(0).topics.keys()]).toEqual(["b", "a"]);
  });

  test("are told as a whole once too many topics have become empty", () => {
    const own = new OwnMembers();
    own.set("kept", "ann", entryOf("ann"));
    own.flush();
    for (let i = 0; i < 10_001; i++) {
      own.set(`${i}`, "ben", entryOf("ben"));
      own.flush();
      own.set(`${i}`, "ben", undefined);
      own.flush();
    }
    expect(own.statesSince(1)).toEqual({
      version: 20_003,
      topics: new Map([["kept", [entryOf("ann")]]]),
      isComplete: true,
    });
    expect(own.statesSince(20_000)).toMatchObject({ isComplete: false });
  });
});
