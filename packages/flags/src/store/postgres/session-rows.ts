/** Finds changed sessions and memberships in Better Auth's own tables, by one query for thousands of them. */
import { PostgresArray } from "./array.ts";
import { COMPARISON_TIMEOUT_MS, type HostTables } from "./host-tables.ts";

export interface SessionRowsQuery {
  /**
   * The tokens of the sessions whose own row or whose user's row is gone, or was changed at `since` or later. A token is
   * a single line.
   */
  changedSessions(
    sessions: readonly { readonly token: string; readonly userId: string }[],
    since: Date,
  ): Promise<ReadonlySet<string>>;
  /** The ids of the members whose row is gone or has another role than `role`. */
  changedMembers(memberIds: ReadonlySet<string>, role: string): Promise<ReadonlySet<string>>;
}

/** `byAdapter` takes over when PostgreSQL does not know the host's tables by their names. */
export function createSessionRowsQuery(
  tables: HostTables | undefined,
  byAdapter: SessionRowsQuery,
): SessionRowsQuery {
  if (tables === undefined) return byAdapter;
  const direct = queryTables(tables);
  return {
    changedSessions: (sessions, since) =>
      tables.ask(
        () => direct.changedSessions(sessions, since),
        () => byAdapter.changedSessions(sessions, since),
      ),
    changedMembers: (memberIds, role) =>
      tables.ask(
        () => direct.changedMembers(memberIds, role),
        () => byAdapter.changedMembers(memberIds, role),
      ),
  };
}

type Sessions = Parameters<SessionRowsQuery["changedSessions"]>[0];

/** The same list is asked for again every few seconds, so its text is kept with it. */
const lines = new WeakMap<Sessions, string>();

/** Values of an array literal would need quotes, which costs a copy of each. */
function linesOf(sessions: Sessions): string {
  const text = lines.get(sessions) ?? sessions.map(({ token }) => token).join("\n");
  lines.set(sessions, text);
  return text;
}

/** Values are sent as one parameter: one for each would dominate the time of a query with thousands of values. */
function queryTables(host: HostTables): SessionRowsQuery {
  const column = (alias: string, model: string, field: string) => `${alias}.${host.column(model, field)}`;
  // One parameter for each time, because the host's two columns may have different types.
  const changedTokens =
    `select cached.token from unnest(string_to_array($1, E'\\n')) as cached (token) ` +
    `left join ${host.table("session")} s on ${column("s", "session", "token")} = cached.token ` +
    `and ${column("s", "session", "updatedAt")} < $2 ` +
    `left join ${host.table("user")} u on ${column("u", "user", "id")} = ${column("s", "session", "userId")} ` +
    `and ${column("u", "user", "updatedAt")} < $3 ` +
    `where ${column("u", "user", "id")} is null`;
  const memberId = column("m", "member", "id");
  // The parameter takes the type of the column, which may be text, a number or a UUID.
  const withRole =
    `from ${host.table("member")} m where ${memberId} = any ($1) ` +
    `and ${column("m", "member", "role")} = $2`;
  return {
    async changedSessions(sessions, since) {
      const tokens = linesOf(sessions);
      const rows = await host.query(COMPARISON_TIMEOUT_MS, changedTokens, [tokens, since, since]);
      return new Set(rows.map(({ token }) => String(token)));
    },
    async changedMembers(memberIds, role) {
      const ids = new PostgresArray();
      for (const id of memberIds) ids.addText(id);
      const values = [ids.literal() ?? "{}", role];
      const [row] = await host.query(
        COMPARISON_TIMEOUT_MS,
        `select count(*)::int as "count" ${withRole}`,
        values,
      );
      if (Number(row?.["count"]) === memberIds.size) return new Set();
      const rows = await host.query(
        COMPARISON_TIMEOUT_MS,
        `select ${memberId}::text as id ${withRole}`,
        values,
      );
      const unchanged = new Set(rows.map(({ id }) => String(id)));
      return new Set([...memberIds].filter((id) => !unchanged.has(id)));
    },
  };
}
