import type { Where } from "@better-auth/core/db/adapter";
import { expect, test, vi } from "vitest";
import { createSessionChanges } from "./session-changes.ts";

type Row = Readonly<Record<string, unknown>>;
interface Query {
  readonly model: string;
  readonly where?: Where[] | undefined;
  readonly select?: string[] | undefined;
}

/** Tables in memory, which give only the columns that are asked for, and how many queries were made. */
function setUp(users: readonly Row[], members: readonly Row[] = []) {
  const tables: Record<string, readonly Row[]> = {
    member: members,
    session: users.map(({ id }) => ({ token: `of ${id}`, updatedAt: new Date(0) })),
    user: users.map((user) => ({ ...user, updatedAt: new Date(0) })),
  };
  const matches = (row: Row, { field, operator, value }: Where): boolean => {
    if (operator === "in") return (value as string[]).includes(String(row[field]));
    return operator === "lt" ? (row[field] as Date) < (value as Date) : row[field] === value;
  };
  const find = (model: string, where: readonly Where[] = []): Row[] =>
    (tables[model] ?? []).filter((row) => where.every((condition) => matches(row, condition)));
  let queries = 0;
  const changes = createSessionChanges({
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
  const rows = users.map(({ id, role }) => ({
    token: `of ${id}`,
    userId: String(id),
    changedAtMs: 0,
    role: typeof role === "string" ? role : undefined,
  }));
  return {
    tables,
    queries: () => queries,
    changedMembers: async (ids: readonly string[], role: string) => [
      ...(await changes.changedMembers(new Set(ids), role)),
    ],
    changed: async () => [...(await changes.changedSessions(rows, new Date(1)))],
  };
}

test("a role that was changed by SQL without updatedAt is found by the same number of queries", async () => {
  const { tables, changed, queries } = setUp([
    { id: "ann", role: "admin" },
    { id: "bob", role: "admin" },
  ]);
  expect([await changed(), queries()]).toEqual([[], 2]);
  tables["user"] = (tables["user"] ?? []).map((user) =>
    user["id"] === "ann" ? { ...user, role: "user" } : user,
  );
  expect(await changed()).toEqual(["of ann"]);
});

test("users without a role are compared by updatedAt only", async () => {
  const { changed, queries } = setUp([{ id: "ann" }, { id: "bob", role: null }]);
  expect([await changed(), queries()]).toEqual([[], 2]);
});

test("users with many different roles take five queries at most", async () => {
  const users = Array.from({ length: 20 }, (_, i) => ({ id: `u${i}`, role: `role ${i}` }));
  const { changed, queries } = setUp(users);
  expect(await changed()).toEqual([]);
  expect(queries()).toBeLessThanOrEqual(1 + 5);
});

test("a user whose row has changed is found without a role too, in every session", async () => {
  const { tables, changed } = setUp([{ id: "ann" }, { id: "bob" }]);
  const [ann, bob] = tables["user"] ?? [];
  tables["user"] = [{ ...ann }, { ...bob, updatedAt: new Date(1) }];
  expect(await changed()).toEqual(["of bob"]);
  tables["session"] = (tables["session"] ?? []).slice(1);
  expect(await changed()).toEqual(["of ann", "of bob"]);
});

test("members whose row is gone or has another role are found", async () => {
  const members = [
    { id: "m1", role: "owner" },
    { id: "m2", role: "member" },
  ];
  const { changedMembers, queries } = setUp([], members);
  expect([await changedMembers(["m1"], "owner"), queries()]).toEqual([[], 1]);
  expect(await changedMembers(["m1", "m2", "m3"], "owner")).toEqual(["m2", "m3"]);
});

test("a session store that does not respond within a second is an error", async () => {
  vi.useFakeTimers();
  const never = () => new Promise<never>(() => {});
  const changes = createSessionChanges({ count: never, findMany: never });
  const failing = expect(changes.changedMembers(new Set(["m1"]), "owner")).rejects.toThrow(
    "did not respond within 1000 ms",
  );
  await vi.advanceTimersByTimeAsync(1000);
  await failing;
  vi.useRealTimers();
});
