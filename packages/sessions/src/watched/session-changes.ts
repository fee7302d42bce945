/** Finds the sessions and memberships whose rows are gone or have changed. */
import type { DBAdapter, Where } from "@better-auth/core/db/adapter";
import { within } from "@halyard/base";

/** The database rows of a session, by which its changes are found. */
export interface SessionRows {
  readonly token: string;
  readonly userId: string;
  /** The later `updatedAt` of the session's row and the user's row. Wall-clock time. */
  readonly changedAtMs: number;
  /** The user's role, if the comparison is to find another one, whatever `updatedAt` says. */
  readonly role?: string | undefined;
}

export interface SessionChanges {
  /**
   * The tokens of the sessions whose own row or whose user's row is gone, or was changed at `since` or later, or whose user
   * has another role.
   */
  changedSessions(sessions: readonly SessionRows[], since: Date): Promise<ReadonlySet<string>>;
  /** The ids of the members whose row is gone or has another role than `role`. */
  changedMembers(memberIds: ReadonlySet<string>, role: string): Promise<ReadonlySet<string>>;
}

/** Deadline of each query that compares verified sessions. */
const COMPARISON_TIMEOUT_MS = 1000;
/** Users are counted by role for so many roles at most: each of them takes a query. */
const MAX_ROLES = 4;
const NONE: ReadonlySet<string> = new Set();

/**
 * Works on every database of Better Auth's. Counts the unchanged rows, which costs a tenth of reading them, and reads
 * their keys only when the count shows a change.
 */
export function createSessionChanges(adapter: Pick<DBAdapter, "count" | "findMany">): SessionChanges {
  async function findChanged(
    model: string,
    key: string,
    values: ReadonlySet<string>,
    ...conditions: readonly Where[]
  ): Promise<ReadonlySet<string>> {
    const where: Where[] = [{ field: key, operator: "in", value: [...values] }, ...conditions];
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
      const changedUsers = new Set<string>();
      for (const [role, userIds] of usersByRole(sessions)) {
        const conditions = role === undefined ? [unchanged] : [unchanged, { field: "role", value: role }];
        for (const id of await findChanged("user", "id", userIds, ...conditions)) changedUsers.add(id);
      }
      if (changedUsers.size === 0) return changedTokens;
      const ofChangedUsers = sessions.filter(({ userId }) => changedUsers.has(userId));
      return new Set([...changedTokens, ...ofChangedUsers.map(({ token }) => token)]);
    },
    changedMembers: (memberIds, role) =>
      findChanged("member", "id", memberIds, { field: "role", value: role }),
  };
}

/** The ids of users by their role; those without one, or with a rare one, together. */
function usersByRole(sessions: readonly SessionRows[]): Map<string | undefined, Set<string>> {
  const byRole = new Map<string | undefined, Set<string>>();
  for (const { role, userId } of sessions) {
    const key = byRole.has(role) || byRole.size < MAX_ROLES ? role : undefined;
    byRole.set(key, (byRole.get(key) ?? new Set()).add(userId));
  }
  return byRole;
}

function inTime<Result>(query: Promise<Result>): Promise<Result> {
  return within(
    query,
    COMPARISON_TIMEOUT_MS,
    `The session store did not respond within ${COMPARISON_TIMEOUT_MS} ms.`,
  );
}
