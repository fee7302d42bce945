import { expect, test } from "vitest";
import { ChangeFeed } from "../changes/change-feed.ts";
import { type SessionReading, toReading } from "../identify/session-caller.ts";
import { LiveSessions } from "./live-sessions.ts";

/** Sessions of one user, whose readings end when the test says so. */
function setUp() {
  const feed = new ChangeFeed();
  const errors: unknown[] = [];
  const ends: ((readings: ReadonlyMap<string, SessionReading>) => void)[] = [];
  const sessions = new LiveSessions({
    feed,
    report: (error) => errors.push(error),
    reader: { isBatched: true, read: () => new Promise((resolve) => ends.push(resolve)) },
  });
  const read = async (...ids: readonly string[]) => {
    await new Promise((resolve) => setTimeout(resolve));
    const readings = ids.map((id): [string, SessionReading] => {
      const session = { id, token: `of ${id}`, expiresAt: new Date(9e12), activeOrganizationId: "org" };
      return [id, toReading(session, { id: "ann" }, { id: "m1", role: "member" })];
    });
    ends.shift()?.(new Map(readings));
  };
  return { feed, sessions, ends, errors, read };
}

test("a caller who asks for a session while it is found to have ended gets an answer", async () => {
  const { sessions, read } = setUp();
  const first = sessions.identify({ sessionId: "s", token: "t" });
  await new Promise((resolve) => setTimeout(resolve));
  const second = sessions.identify({ sessionId: "s", token: "t" });
  await read();
  expect(await Promise.all([first, second])).toEqual([undefined, undefined]);
});

test.each([
  [{ kind: "session", id: "of a" }, ["a"]],
  [{ kind: "session-id", id: "b" }, ["b"]],
  [{ kind: "user", id: "ann" }, ["a", "b"]],
  [{ kind: "member", id: "m1" }, ["a", "b"]],
  [{ kind: "organization", id: "org" }, ["a", "b"]],
  [{ kind: "unknown" }, ["a", "b"]],
  [{ kind: "user", id: "bob" }, []],
] as const)("a change %j marks the sessions that it concerns", async (change, concerned) => {
  const { feed, sessions, ends, read } = setUp();
  const found = ["a", "b"].map((id) => sessions.identify({ sessionId: id, token: `of ${id}` }));
  await read("a", "b");
  await Promise.all(found);
  feed.apply(change);
  const marked = [...sessions.all()].filter(({ changedAtMs }) => changedAtMs !== undefined);
  expect(marked.map(({ sessionId }) => sessionId)).toEqual(concerned);
  await new Promise((resolve) => setTimeout(resolve));
  expect(ends).toHaveLength(concerned.length === 0 ? 0 : 1);
});

test("a session is recognized only while it is in memory with the token that was verified", async () => {
  const { sessions, ends, read } = setUp();
  const name = { sessionId: "a", token: "of a" };
  expect(await sessions.identifyAgain(name)).toBeUndefined();
  expect(ends).toEqual([]);
  const [found] = await Promise.all([sessions.identify(name), read("a")]);
  expect(await sessions.identifyAgain({ ...name, token: "another" })).toBeUndefined();
  const [again] = await Promise.all([sessions.identifyAgain(name), read("a")]);
  expect(again).toBe(found);
});

test("an error of a listener is reported, thrown or rejected, and the others are called", async () => {
  const { feed, sessions, errors, read } = setUp();
  const found = sessions.identify({ sessionId: "a", token: "of a" });
  await read("a");
  await found;
  const ended: string[] = [];
  const listen = (end: () => unknown) => sessions.follow("a", { changed: () => undefined, ended: end });
  await listen(() => {
    throw new Error("thrown");
  });
  await listen(async () => {
    throw new Error("rejected");
  });
  await listen(() => ended.push("a"));
  feed.apply({ kind: "session-id", id: "a" });
  await read();
  await new Promise((resolve) => setTimeout(resolve));
  expect(errors).toEqual([new Error("thrown"), new Error("rejected")]);
  expect(ended).toEqual(["a"]);
});

test("a session that ended is not found by any change", async () => {
  const { feed, sessions, ends, read } = setUp();
  const found = sessions.identify({ sessionId: "a", token: "of a" });
  await read("a");
  await found;
  const [live] = sessions.all();
  if (live === undefined) throw new Error("The session is missing.");
  sessions.drop(live);
  for (const kind of ["user", "member", "organization", "session-id", "session"] as const)
    for (const id of ["ann", "m1", "org", "a", "of a"]) feed.apply({ kind, id });
  expect([live.changedAtMs, sessions.size, ends.length]).toEqual([undefined, 0, 0]);
});
