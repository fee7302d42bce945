/** Counts which of many sessions are no longer as they were, so that their rows need not be read. */
import type { DBAdapter, Where } from "@better-auth/core/db/adapter";
import { HostTables, type TableHost } from "../../store/host-tables.ts";
import { PostgresArray } from "../../store/postgres-array.ts";
import type { PostgresPool } from "../../store/postgres-pool.ts";
import { within } from "../../store/wait.ts";
import type { SessionRows } from "./principal.ts";

/** Zero is exact: nothing has changed. Where something has, the number may be that of the first kind found. */
export interface SessionCount {
  /** How many of the sessions, or of their users, are gone or were changed at `since` or later. */
  changed(sessions: readonly SessionRows[], since: Date): Promise<number>;
  /** How many of the members are gone or have another role. */
  moved(memberIds: ReadonlySet<string>, role: string): Promise<number>;
}

/** What is used of Better Auth's context. */
export interface CountedHost extends TableHost {
  readonly adapter: Pick<DBAdapter, "count">;
}

/** For each question. A connection that takes longer is not used again. */
const ANSWER_WITHIN_MS = 1000;

/** By a join where PostgreSQL can be asked directly, otherwise in Better Auth's own way. */
export function sessionCount(host: CountedHost, pool: PostgresPool | undefined): SessionCount {
  const ordinary = countByAdapter(host.adapter);
  const tables = HostTables.on(host, pool);
  if (tables === undefined) return ordinary;
  const joined = countByJoin(tables);
  const ask = (question: (count: SessionCount) => Promise<number>) =>
    tables.ask(
      () => question(joined),
      () => question(ordinary),
    );
  return {
    changed: (sessions, since) => ask((count) => count.changed(sessions, since)),
    moved: (memberIds, role) => ask((count) => count.moved(memberIds, role)),
  };
}

/** A parameter for each value, and a question for each table. */
function countByAdapter(adapter: CountedHost["adapter"]): SessionCount {
  async function countMissing(model: string, field: string, values: ReadonlySet<string>, other: Where) {
    const where: Where[] = [{ field, operator: "in", value: [...values] }, other];
    const counting = adapter.count({ model, where });
    return (
      values.size - (await within(counting, ANSWER_WITHIN_MS, "The session store did not answer in time."))
    );
  }
  return {
    async changed(sessions, since) {
      const before: Where = { field: "updatedAt", operator: "lt", value: since };
      const tokens = new Set(sessions.map(({ token }) => token));
      const ofSessions = await countMissing("session", "token", tokens, before);
      if (ofSessions !== 0) return ofSessions;
      return countMissing("user", "id", new Set(sessions.map(({ userId }) => userId)), before);
    },
    moved: (memberIds, role) => countMissing("member", "id", memberIds, { field: "role", value: role }),
  };
}

/** One array of values in one question: a parameter for each costs most of the time of asking for thousands. */
function countByJoin(host: HostTables): SessionCount {
  const table = (model: string) => host.table(model);
  const column = (model: string, field: string) => host.column(model, field);
  async function count(text: string, values: unknown[]): Promise<number> {
    const [row] = await host.query(ANSWER_WITHIN_MS, text, values);
    return Number(row?.["count"]);
  }
  // The two times may be of different types, as the host's columns are.
  const untouched =
    `select count(*)::int as "count" from unnest($1::text[]) as asked (token) ` +
    `join ${table("session")} s on s.${column("session", "token")} = asked.token ` +
    `join ${table("user")} u on u.${column("user", "id")} = s.${column("session", "userId")} ` +
    `where s.${column("session", "updatedAt")} < $2 and u.${column("user", "updatedAt")} < $3`;
  const inRole =
    `select count(*)::int as "count" from ${table("member")} m ` +
    `where m.${column("member", "id")} = any ($1) and m.${column("member", "role")} = $2`;
  return {
    async changed(sessions, since) {
      const tokens = new PostgresArray();
      // One that is known by two proofs is asked for twice, and counted twice.
      for (const { token } of sessions) tokens.addText(token);
      return sessions.length - (await count(untouched, [tokens.literal() ?? "{}", since, since]));
    },
    async moved(memberIds, role) {
      const ids = new PostgresArray();
      for (const id of memberIds) ids.addText(id);
      return memberIds.size - (await count(inRole, [ids.literal() ?? "{}", role]));
    },
  };
}
