/**
 * All interleavings of joins, leaves, readers, crashes and outages in two processes, and many in three, with messages that
 * arrive in any order, once, twice, or not at all. Each schedule runs on the real state and the real messages.
 */
import { afterEach, describe, expect, test, vi } from "vitest";
import { MemberLists } from "../src/channels/presence/member-lists.ts";
import { OwnMembers } from "../src/channels/presence/own-members.ts";
import { PeerProcess } from "../src/channels/presence/peer-process.ts";
import { PresenceState } from "../src/channels/presence/presence-state.ts";
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
  again: ["join 0 ann", "leave 0 ann", "join 0 ann", "join 1 ben"],
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
    expect(states).toBeGreaterThan(100);
  });
});

/** Two rooms, processes that read a list without a member, gaps and outages. With each, fewer faults can be searched. */
const LARGER = {
  // The versions of a process count for both of its rooms.
  rooms: { operations: ["join 0 ann", "join 1 ben", "join 0 ann hall"], duplicates: 0 },
  roomsRead: { operations: ["read 1", "read 1 hall", "join 0 ann", "join 0 ben hall"] },
  reader: { operations: ["read 1", "join 0 ann", "leave 0 ann"] },
  readerOfOther: { operations: ["read 1", "read 1 hall", "join 0 ann hall"] },
  readerJoins: { operations: ["read 1", "join 1 ben", "join 0 ann", "unread 1"] },
  gap: { operations: ["join 0 ann", "gap", "read 1"], duplicates: 0 },
  outage: { operations: ["join 0 ann", "read 1", "outage", "restore"], losses: 0 },
  crashInOutage: { operations: ["join 0 ann", "read 1", "outage", "crash 0", "restore"], losses: 0 },
} as const satisfies Record<string, Program>;

describe("in every schedule with two rooms, a reader that is no member, or a broker that fails, too", {
  timeout: 60_000,
}, () => {
  test.each(Object.entries<Program>(LARGER))("of %s", (_, program) => {
    const { violation, states } = search(program);
    expect(violation).toBeUndefined();
    expect(states).toBeGreaterThan(100);
  });
});

/** Three processes: too many schedules to search them all. */
const OF_THREE: Readonly<Record<string, readonly Operation[]>> = {
  rooms: ["join 0 ann", "join 1 ben", "join 2 cas hall", "join 0 ann hall", "leave 0 ann", "leave 1 ben"],
  moves: ["join 0 ann", "join 1 ann", "leave 0 ann", "join 2 ann", "leave 1 ann", "read 0"],
  reader: ["read 2", "read 2 hall", "join 0 ann", "join 1 ben hall", "leave 0 ann", "unread 2", "join 2 cas"],
  crash: ["read 2", "join 0 ann", "join 1 ben", "join 1 cas hall", "crash 1", "leave 0 ann"],
  gap: ["join 0 ann", "read 2", "gap", "join 1 ben", "leave 0 ann", "gap"],
  outage: ["join 0 ann", "join 1 ben", "read 2", "outage", "join 2 cas", "leave 1 ben", "restore"],
  crashInOutage: ["join 0 ann", "join 1 ben hall", "read 2 hall", "outage", "crash 1", "restore"],
};
const SCHEDULES = 150;

describe("in many schedules of three processes, two rooms and a reader, the lists are right too", {
  timeout: 60_000,
}, () => {
  const random = new Random(seedOf("presence of three processes"));
  test.each(Object.entries(OF_THREE))("of %s: %s", (_, operations) => {
    const program = { operations, processes: 3, losses: 2, duplicates: 1 };
    expect(sample(program, SCHEDULES, random)).toBeUndefined();
  });
});

const broken = (operations: readonly Operation[], mutate: Mutation) => search({ operations, mutate });

describe("the search finds a schedule that goes wrong when", { timeout: 60_000 }, () => {
  test("gaps between versions are not noticed", () => {
    const { violation } = broken(PROGRAMS.both, (message) =>
      message.is === "changes" ? { ...message, previous: 0 } : message,
    );
    expect(violation).toContain("loss of changes");
  });

  test("heartbeats do not tell the version, so that a lost last change stays unknown", () => {
    const { violation } = broken(PROGRAMS.together, (message) =>
      message.is === "alive" ? { ...message, version: 0 } : message,
    );
    expect(violation).toContain("loss of");
  });

  test("missed changes are not answered", () => {
    const { statesSince } = OwnMembers.prototype;
    vi.spyOn(OwnMembers.prototype, "statesSince").mockImplementation(function (this: OwnMembers, version) {
      return { ...statesSince.call(this, version), topics: new Map() };
    });
    expect(search({ operations: PROGRAMS.together }).violation).toContain("instead of");
  });

  test("topics that became empty are forgotten", () => {
    const { statesSince } = OwnMembers.prototype;
    vi.spyOn(OwnMembers.prototype, "statesSince").mockImplementation(function (this: OwnMembers, version) {
      const states = statesSince.call(this, version);
      return { ...states, topics: new Map([...states.topics].filter(([, entries]) => entries.length > 0)) };
    });
    expect(search({ operations: PROGRAMS.leave }).violation).toContain("loss of");
  });

  test("a state that is older than what is known counts", () => {
    vi.spyOn(PeerProcess.prototype, "needs").mockImplementation(function (this: PeerProcess, topic) {
      this.unknown.set(topic, 0);
    });
    vi.spyOn(PeerProcess.prototype, "versionOf").mockReturnValue(0);
    expect(search({ operations: PROGRAMS.again }).violation).toBeDefined();
  });

  test("the leave of one process removes the member of another", () => {
    const { setHeld } = MemberLists.prototype;
    vi.spyOn(MemberLists.prototype, "setHeld").mockImplementation(function (
      this: MemberLists,
      peer,
      topic,
      key,
      entry,
    ) {
      if (entry === undefined && peer.get(topic, key) !== undefined) this.setOwn(topic, key, undefined);
      return setHeld.call(this, peer, topic, key, entry);
    });
    expect(search({ operations: PROGRAMS.move }).violation).toContain("ann is not in the own list");
  });

  test("the members of a dead process stay", () => {
    vi.spyOn(MemberLists.prototype, "remove").mockImplementation(function (this: MemberLists, peer) {
      peer.heardAt = Number.POSITIVE_INFINITY;
    });
    expect(search({ operations: PROGRAMS.crash }).violation).toContain("crash 1");
  });

  test("the first joiner asks no other process", () => {
    vi.spyOn(PresenceState.prototype, "watch").mockImplementation(function (this: PresenceState, topic) {
      this.lists.watch(topic);
    });
    expect(search({ operations: PROGRAMS.together }).violation).toContain("instead of");
  });

  test("an answer covers one room only", () => {
    const { statesSince } = OwnMembers.prototype;
    vi.spyOn(OwnMembers.prototype, "statesSince").mockImplementation(function (this: OwnMembers, version) {
      const states = statesSince.call(this, version);
      return { ...states, topics: new Map([...states.topics].slice(0, 1)) };
    });
    expect(search(LARGER.roomsRead).violation).toContain("instead of");
  });

  test("only members are told of changes", () => {
    const { isWatched } = MemberLists.prototype;
    vi.spyOn(MemberLists.prototype, "isWatched").mockImplementation(function (this: MemberLists, topic) {
      return isWatched.call(this, topic) && this.own.has(topic);
    });
    expect(search(LARGER.reader).violation).toBeDefined();
  });

  test("the silence of an outage counts", () => {
    expect(search({ ...LARGER.outage, isEchoed: true }).violation).toContain("vanished");
  });
});
