import { describe, expect, test } from "vitest";
import { createEntry } from "./entry.ts";
import { OwnMembers } from "./own-members.ts";

const entryOf = (key: string, name = key) => createEntry({ key, name }, 1);

describe("the members of a process", () => {
  test("have no change when they are as they were published", () => {
    const own = new OwnMembers();
    own.hold("a");
    own.set("a", "ann", entryOf("ann"));
    own.set("a", "ann", undefined);
    expect(own.flush()).toEqual([]);
    own.set("a", "ann", entryOf("ann"));
    expect(own.flush()).toMatchObject([{ previous: 1, version: 2 }]);
    own.set("a", "ann", undefined);
    own.set("a", "ann", entryOf("ann"));
    expect(own.flush()).toEqual([]);
    own.set("a", "ann", entryOf("ann", "Anna"));
    expect(own.flush()).toEqual([
      { topic: "a", previous: 2, version: 3, joined: [entryOf("ann", "Anna")], left: [], isLast: false },
    ]);
  });

  test("have versions of their own in each room, which grow also when a room is held again", () => {
    const own = new OwnMembers();
    own.hold("a");
    own.set("a", "ann", entryOf("ann"));
    own.hold("b");
    own.set("b", "ben", entryOf("ben"));
    expect(own.flush()).toMatchObject([
      { topic: "a", previous: 1 },
      { topic: "b", previous: 2 },
    ]);
    const before = own.stateOf("a")?.version ?? 0;
    own.set("a", "ann", undefined);
    own.release("a");
    expect(own.flush()).toMatchObject([{ topic: "a", previous: before, left: ["ann"], isLast: true }]);
    expect(own.stateOf("a")).toBeUndefined();
    own.hold("a");
    expect(own.stateOf("a")?.version).toBeGreaterThan(before);
  });

  test("of a room that is held again before it was published as released are not told as gone", () => {
    const own = new OwnMembers();
    own.hold("a");
    own.set("a", "ann", entryOf("ann"));
    own.flush();
    own.release("a");
    own.hold("a");
    expect(own.flush()).toEqual([]);
    expect(own.stateOf("a")?.entries).toEqual([entryOf("ann")]);
  });
});
