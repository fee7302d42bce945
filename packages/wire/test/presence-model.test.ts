/**
 * All interleavings of joins, leaves, readers, crashes and outages in two processes, and many in three, with messages that
 * arrive in any order, once, twice, or not at all. Each schedule runs on the real state and the real messages.
 */
import { sized } from "@halyard/services";
import { afterEach, describe, expect, test, vi } from "vitest";
import { MemberLists } from "../src/channels/presence/member-lists.ts";
import { PresenceState } from "../src/channels/presence/presence-state.ts";
import { Questions } from "../src/channels/presence/questions.ts";
import { type Mutation, type Operation, type Program, sample, search } from "./fixtures/presence-world.ts";
import { Random, seedOf } from "./fixtures/random.ts";

/** Two clients in two processes. */
const PROGRAMS = {
  together: ["join 0 ann", "join 1 ben"],
  leave: ["join 0 ann", "join 1 ben", "leave 1 ben"],
  // One member with a connection to each process: its leave in one must not remove it from the other.
  move: ["join 0 ann", "join 1 ann", "leave 1 ann"],
  moveBack: ["join 1 ann", "join 0 ann", "leave 1 ann"],
  both: ["join 1 ben", "join 0 ann", "join 0 ben"],
  crash: ["join 0 ann", "join 1 ben", "crash 1"],
  crashLater: ["join 1 ann", "join 0 ben", "leave 0 ben", "crash 1"],
} as const satisfies Record<string, readonly Operation[]>;

afterEach(() => {
  vi.restoreAllMocks();
});

describe("in every schedule, all live processes list exactly the members who are there", {
  timeout: 60_000,
}, () => {
  test.each(Object.entries(PROGRAMS))("of %s: %s", (_, program) => {
    const { violation, states } = search({ operations: program });
    expect(violation).toBeUndefined();
    expect(states).toBeGreaterThan(40);
  });
});

/** Two rooms, processes that read a list without a member, gaps and outages. With each, fewer faults can be searched. */
const LARGER = {
  again: { operations: ["join 0 ann", "leave 0 ann", "join 0 ann", "join 1 ben"], duplicates: 0 },
  // The versions of a process count for both of its rooms.
  rooms: { operations: ["join 0 ann", "join 1 ben", "join 0 ann hall"], duplicates: 0 },
  roomsRead: { operations: ["read 1", "read 1 hall", "join 0 ann", "join 0 ben hall"] },
  reader: { operations: ["read 1", "join 0 ann", "leave 0 ann"] },
  readerOfOther: { operations: ["read 1", "read 1 hall", "join 0 ann hall"] },
  readerJoins: { operations: ["read 1", "join 1 ben", "join 0 ann", "unread 1"] },
  // Answers and messages from before it read again may arrive.
  readsAgain: {
    operations: ["read 1", "unread 1", "read 1", "join 0 ann", "leave 0 ann"],
    isOrdered: true,
    losses: 0,
    duplicates: 0,
  },
  gap: { operations: ["join 0 ann", "gap", "read 1"], duplicates: 0 },
  outage: { operations: ["join 0 ann", "read 1", "outage", "restore"], losses: 0 },
  crashInOutage: { operations: ["join 0 ann", "read 1", "outage", "crash 0", "restore"], losses: 0 },
  // A broker that cannot tell who receives a message, and one that does not tell what it loses before the next message.
  uncounted: { operations: ["join 0 ann", "join 1 ben", "crash 1"], isCounting: false, duplicates: 0 },
  unannounced: { operations: ["join 1 ben", "join 0 ann", "join 1 cas"], isAnnounced: false, duplicates: 0 },
} as const satisfies Record<string, Program>;

describe("in every schedule with two rooms, a reader that is no member, or a broker that fails, too", {
  timeout: 60_000,
}, () => {
  const { unannounced: _, ...announced } = LARGER;
  test.each(Object.entries<Program>(announced))("of %s: $operations", (_, program) => {
    const { violation, states } = search(program);
    expect(violation).toBeUndefined();
    expect(states).toBeGreaterThan(40);
  });
});

/** Three processes: too many schedules to search them all. */
const OF_THREE: Readonly<Record<string, readonly Operation[]>> = {
  rooms: ["join 0 ann", "join 1 ben", "join 2 cas hall", "join 0 ann hall", "leave 0 ann", "leave 1 ben"],
  moves: ["join 0 ann", "join 1 ann", "leave 0 ann", "join 2 ann", "leave 1 ann", "read 0"],
  reader: ["read 2", "read 2 hall", "join 0 ann", "join 1 ben hall", "leave 0 ann", "unread 2", "join 2 cas"],
  readsAgain: ["read 2", "unread 2", "read 2", "join 0 ann", "leave 0 ann", "join 1 ben"],
  crash: ["read 2", "join 0 ann", "join 1 ben", "join 1 cas hall", "crash 1", "leave 0 ann"],
  gap: ["join 0 ann", "read 2", "gap", "join 1 ben", "leave 0 ann", "gap"],
  outage: ["join 0 ann", "join 1 ben", "read 2", "outage", "join 2 cas", "leave 1 ben", "restore"],
  crashInOutage: ["join 0 ann", "join 1 ben hall", "read 2 hall", "outage", "crash 1", "restore"],
};
const SCHEDULES = sized(5_000, 500);

describe("in many schedules of three processes, two rooms and a reader, the lists are right too", {
  timeout: 60_000,
}, () => {
  const random = new Random(seedOf("presence of three processes"));
  test.each(Object.entries(OF_THREE))("of %s: %s", (_, operations) => {
    const program = { operations, processes: 3, losses: 2, duplicates: 1, isOrdered: true };
    expect(sample(program, SCHEDULES, random)).toBeUndefined();
  });
});

const broken = (operations: readonly Operation[], mutate: Mutation) => search({ operations, mutate });

describe("the search finds a schedule that goes wrong when", { timeout: 60_000 }, () => {
  test("gaps between versions are not noticed", () => {
    const { violation } = search({
      ...LARGER.unannounced,
      mutate: (message) => (message.is === "changes" ? { ...message, previous: 0 } : message),
    });
    expect(violation).toContain("loss of changes");
  });

  test("a loss is not announced, so that a lost last change stays unknown", () => {
    const { violation } = search({ operations: PROGRAMS.together, isAnnounced: false });
    expect(violation).toContain("loss of");
  });

  test("a room that is held no more is not told", () => {
    const { violation } = broken(PROGRAMS.leave, (message) =>
      message.is === "changes" && message.isLast ? undefined : message,
    );
    expect(violation).toContain("instead of");
  });

  test("a state that is older than what is known counts", () => {
    const { need } = Questions.prototype;
    vi.spyOn(Questions.prototype, "need").mockImplementation(function (this: Questions, holder, dueAt) {
      holder.version = 0;
      need.call(this, holder, dueAt, 0);
      holder.least = 0;
    });
    expect(search(LARGER.again).violation).toBeDefined();
  });

  test("the leave of one process removes the member of another", () => {
    const { setHeld } = MemberLists.prototype;
    vi.spyOn(MemberLists.prototype, "setHeld").mockImplementation(function (
      this: MemberLists,
      holder,
      key,
      entry,
    ) {
      if (entry === undefined && holder.members.has(key)) this.setOwn(holder.topic, key, undefined);
      return setHeld.call(this, holder, key, entry);
    });
    expect(search({ operations: PROGRAMS.move }).violation).toContain("ann is not in the own list");
  });

  test("the members of a dead process stay", () => {
    vi.spyOn(MemberLists.prototype, "remove").mockImplementation(() => undefined);
    expect(search({ operations: PROGRAMS.crash }).violation).toContain("crash 1");
  });

  test("an answer from before the list was read again counts", () => {
    vi.spyOn(PresenceState.prototype, "watch").mockImplementation(function (this: PresenceState, topic) {
      if (this.lists.watch(topic) !== undefined) this.refused(topic);
    });
    expect(search(LARGER.readsAgain).violation).toContain("vanished");
  });

  test("the first joiner asks no other process", () => {
    vi.spyOn(PresenceState.prototype, "watch").mockImplementation(function (this: PresenceState, topic) {
      this.lists.watch(topic);
    });
    expect(search({ operations: PROGRAMS.together }).violation).toContain("instead of");
  });

  test("an answer names no other holder", () => {
    const seen: (string | undefined)[] = [];
    const random = new Random(seedOf("holders"));
    const mutate: Mutation = (message) =>
      message.is === "answer"
        ? { ...message, rooms: message.rooms.map((room) => ({ ...room, holders: [] })) }
        : message;
    for (const operations of Object.values(OF_THREE))
      seen.push(
        sample({ operations, processes: 3, losses: 2, isAnnounced: false, mutate }, SCHEDULES, random),
      );
    expect(seen.filter((violation) => violation !== undefined)).not.toEqual([]);
  });

  test("the silence of an outage counts", () => {
    expect(search({ ...LARGER.outage, isEchoed: true }).violation).toContain("vanished");
  });
});
