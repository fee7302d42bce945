import type { Where } from "@better-auth/core/db/adapter";
import { expect, test } from "vitest";
import { createSessionChanges } from "./session-changes.ts";

type Row = Readonly<Record<string, unknown>>;

/** Tables in memory, and how many queries were made. */
function setUp(users: readonly Row[]) {
  const tables: Record<string, Row[]> = {
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
    async findMany<Found>({ model, where }: { model: string; where?: Where[] | undefined }) {
      queries++;
      return find(model, where) as Found[];
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
