import type { Where } from "@better-auth/core/db/adapter";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { toReading } from "../identify/session-caller.ts";
import { LiveSession } from "./live-session.ts";
import { createRowCounts } from "./row-counts.ts";

type Row = Readonly<Record<string, unknown>>;
interface Query {
  readonly model: string;
  readonly where?: Where[] | undefined;
  readonly select?: string[] | undefined;
}

const HOUR = 3_600_000;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Tables in memory, which give only the columns that are asked for, and how many queries were made. */
function setUp(users: readonly Row[], members: readonly (Row & { readonly userId: string })[] = []) {
  const updatedAt = new Date(Date.now() - HOUR);
  const tables: Record<string, readonly Row[]> = {
    member: members,
    session: users.map(({ id }) => ({ token: `of ${id}`, updatedAt })),
    user: users.map((user) => ({ ...user, updatedAt })),
  };
  const matches = (row: Row, { field, operator, value }: Where): boolean => {
    if (operator === "in") return (value as string[]).includes(String(row[field]));
    return operator === "lt" ? (row[field] as Date) < (value as Date) : row[field] === value;
  };
  const find = (model: string, where: readonly Where[] = []): Row[] =>
    (tables[model] ?? []).filter((row) => where.every((condition) => matches(row, condition)));
  let queries = 0;
  const counts = createRowCounts({
    async count({ model, where }) {
      queries++;
      return find(model, where).length;
    },
    async findMany<Found>({ model, where, select = [] }: Query) {
      queries++;
      const pick = (row: Row) => Object.fromEntries(select.map((name) => [name, row[name]]));
      return find(model, where).map(pick) as Found[];
    },
  });
  const sessions = users.map(({ id, role }) => {
    const live = new LiveSession(`session of ${id}`, `of ${id}`);
    const session = { id: live.key, token: live.token, updatedAt, expiresAt: new Date(9e12) };
    const others = members
      .filter(({ userId }) => userId === id)
      .map((member) => ({ id: String(member["id"]), role: String(member["role"]), organizationId: "acme" }));
    live.reading = toReading(session, { id, role, updatedAt }, undefined, others);
    live.comparedAtMs = performance.now();
    return live;
  });
  return {
    tables,
    sessions,
    queries: () => queries,
    changed: async () =>
      [...((await counts.findChanged(sessions)) ?? new Map<LiveSession, undefined>()).keys()].map(
        ({ token }) => token,
      ),
    change: (model: string, id: string, to: Row) => {
      tables[model] = (tables[model] ?? []).map((row) => (row["id"] === id ? { ...row, ...to } : row));
    },
  };
}

test("a role that was changed by SQL without updatedAt is found by the same number of queries", async () => {
  const { change, changed, queries } = setUp([
    { id: "ann", role: "admin" },
    { id: "bob", role: "admin" },
  ]);
  expect([await changed(), queries()]).toEqual([[], 2]);
  change("user", "ann", { role: "user" });
  expect(await changed()).toEqual(["of ann"]);
});

test("users without a role are compared by updatedAt only", async () => {
  const { changed, queries } = setUp([{ id: "ann" }, { id: "bob", role: null }]);
  expect([await changed(), queries()]).toEqual([[], 2]);
});

test("users with many different roles take six queries at most", async () => {
  const users = Array.from({ length: 20 }, (_, at) => ({ id: `u${at}`, role: `role ${at}` }));
  const { changed, queries } = setUp(users);
  expect(await changed()).toEqual([]);
  expect(queries()).toBe(1 + 5);
});

test("a session and a user whose row has changed or is gone are found", async () => {
  const { tables, change, changed } = setUp([{ id: "ann" }, { id: "bob" }, { id: "cat" }]);
  change("user", "bob", { updatedAt: new Date() });
  expect(await changed()).toEqual(["of bob"]);
  tables["session"] = (tables["session"] ?? []).slice(1);
  tables["user"] = (tables["user"] ?? []).slice(0, 2);
  expect(await changed()).toEqual(["of ann", "of bob", "of cat"]);
});

test("members whose row is gone or has another role are found", async () => {
  const { tables, change, changed } = setUp(
    [{ id: "ann" }, { id: "bob" }, { id: "cat" }],
    [
      { id: "m1", role: "owner", userId: "ann" },
      { id: "m2", role: "member", userId: "bob" },
      { id: "m3", role: "owner", userId: "cat" },
    ],
  );
  expect(await changed()).toEqual([]);
  change("member", "m2", { role: "owner" });
  tables["member"] = (tables["member"] ?? []).slice(0, 2);
  expect(await changed()).toEqual(["of bob", "of cat"]);
});

test("a row that changed less than 10 s before its last comparison may have changed again", async () => {
  const { sessions, changed } = setUp([{ id: "ann" }, { id: "bob" }]);
  const [ann] = sessions;
  if (ann === undefined) throw new Error("Ann has no session.");
  ann.comparedAtMs = performance.now() - HOUR + 9999;
  expect(await changed()).toEqual(["of ann"]);
  ann.comparedAtMs += 1;
  expect(await changed()).toEqual([]);
});

test("a session store that does not respond within a second is an error", async () => {
  const { sessions } = setUp([{ id: "ann" }]);
  const never = () => new Promise<never>(() => {});
  const counts = createRowCounts({ count: never, findMany: never });
  const failing = expect(counts.findChanged(sessions)).rejects.toThrow("did not respond within 1000 ms");
  await vi.advanceTimersByTimeAsync(1000);
  await failing;
});
