/** Finds the sessions and memberships whose rows are gone or have changed. */
import type { DBAdapter, Where } from "@better-auth/core/db/adapter";
import { within } from "./deadline.ts";
import type { SessionRows } from "./session.ts";

export interface SessionChanges {
  /** The tokens of the sessions whose own row or whose user's row is gone, or was changed at `since` or later. */
  changedSessions(sessions: readonly SessionRows[], since: Date): Promise<ReadonlySet<string>>;
  /** The ids of the members whose row is gone or has another role than `role`. */
  changedMembers(memberIds: ReadonlySet<string>, role: string): Promise<ReadonlySet<string>>;
}

/** Deadline of each query. */
const TIMEOUT_MS = 1000;
const NONE: ReadonlySet<string> = new Set();

/**
 * Works on every database of Better Auth's. Counts the unchanged rows, which costs a tenth of reading them, and reads
 * their keys only when the count shows a change.
 */
export function createSessionChanges(adapter: Pick<DBAdapter, "count" | "findMany">): SessionChanges {
  async function findChanged(model: string, key: string, values: ReadonlySet<string>, condition: Where) {
    const where: Where[] = [{ field: key, operator: "in", value: [...values] }, condition];
    const count = await inTime(adapter.count({ model, where }));
    if (count === values.size) return NONE;
    const reading = adapter.findMany<Record<string, unknown>>({
      model,
      where,
      select: [key],
      limit: values.size,
    });
    const unchanged = new Set((await inTime(reading)).map((row) => String(row[key])));
    return new Set([...values].filter((value) => !unchanged.has(value)));
  }

  return {
    async changedSessions(sessions, since) {
      const unchanged: Where = { field: "updatedAt", operator: "lt", value: since };
      const tokens = new Set(sessions.map(({ token }) => token));
      const changedTokens = await findChanged("session", "token", tokens, unchanged);
      const userIds = new Set(sessions.map(({ userId }) => userId));
      const changedUsers = await findChanged("user", "id", userIds, unchanged);
      if (changedUsers.size === 0) return changedTokens;
      const ofChangedUsers = sessions.filter(({ userId }) => changedUsers.has(userId));
      return new Set([...changedTokens, ...ofChangedUsers.map(({ token }) => token)]);
    },
    changedMembers: (memberIds, role) =>
      findChanged("member", "id", memberIds, { field: "role", value: role }),
  };
}

function inTime<Result>(query: Promise<Result>): Promise<Result> {
  return within(query, TIMEOUT_MS, `The session store did not respond within ${TIMEOUT_MS} ms.`);
}
