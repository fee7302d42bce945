/**
 * Where rows have no versions, counts those that have not changed, which costs a tenth of reading them. A change shows in
 * `updatedAt`, in the role of a user or in that of a member. Works on every database of Better Auth's.
 */
import type { DBAdapter, Where } from "@better-auth/core/db/adapter";
import { within } from "@halyard/base";
import type { Membership, SessionReading } from "../identify/session-caller.ts";
import type { LiveSession } from "./live-session.ts";
import type { Comparison } from "./watched-rows.ts";

/** Sessions in one count. Some databases allow some 2,000 parameters in a query. */
const MAX_BLOCK = 1000;
/** Tolerated clock skew between nodes. */
const CLOCK_SKEW_MS = 10_000;
/** Deadline of each query. */
const TIMEOUT_MS = 1000;
/** At most so many roles are counted separately, because each takes a query. */
const MAX_ROLES = 4;
const NONE: ReadonlySet<string> = new Set();

export function createRowCounts(adapter: Pick<DBAdapter, "count" | "findMany">): Comparison<LiveSession> {
  /** Reads the keys of the rows that have not changed only when their count shows a change. */
  async function findChanged(
    model: string,
    key: string,
    values: ReadonlySet<string>,
    conditions: readonly Where[],
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

  /** Those whose row is gone, or has another role. */
  async function findChangedByRole(
    model: string,
    ids: Iterable<readonly [id: string, role: string | undefined]>,
    conditions: readonly Where[] = [],
  ): Promise<ReadonlySet<string>> {
    const byRole = new Map<string | undefined, Set<string>>();
    for (const [id, role] of ids) byRole.set(role, (byRole.get(role) ?? new Set()).add(id));
    const changed = new Set<string>();
    for (const [role, some] of byRole) {
      const ofRole: Where[] = role === undefined ? [] : [{ field: "role", value: role }];
      for (const id of await findChanged(model, "id", some, [...conditions, ...ofRole])) changed.add(id);
    }
    return changed;
  }

  async function compareBlock(block: readonly LiveSession[]): Promise<LiveSession[]> {
    const readings = block.flatMap(({ reading }) => reading ?? []);
    const latestMs = readings.reduce((latest, { changedAtMs = 0 }) => Math.max(latest, changedAtMs), 0);
    // Databases may store fractions of a millisecond, which a `Date` does not hold.
    const unchanged: Where[] = [{ field: "updatedAt", operator: "lt", value: new Date(latestMs + 1) }];
    const tokens = new Set(readings.map(({ token }) => token));
    const changedTokens = await findChanged("session", "token", tokens, unchanged);
    const named = new Set([...new Set(readings.map(({ caller }) => caller.role))].slice(0, MAX_ROLES));
    const changedUsers = await findChangedByRole(
      "user",
      readings.map(({ caller: { userId, role } }) => [userId, named.has(role) ? role : undefined]),
      unchanged,
    );
    const changedMembers = await findChangedByRole(
      "member",
      readings.flatMap(membershipsOf).map(({ id, role }) => [id, role]),
    );
    return block.filter(
      ({ reading }) =>
        reading === undefined ||
        changedTokens.has(reading.token) ||
        changedUsers.has(reading.caller.userId) ||
        membershipsOf(reading).some(({ id }) => changedMembers.has(id)),
    );
  }

  return {
    byValueMs: 60_000,
    minByValue: 500,
    async findChanged(sessions) {
      const nowMs = performance.now();
      const wallMs = Date.now();
      const changed = new Map<LiveSession, undefined>();
      const counted: LiveSession[] = [];
      for (const live of sessions) {
        if (canShowChange(live, nowMs, wallMs)) counted.push(live);
        else changed.set(live, undefined);
      }
      for (let at = 0; at < counted.length; at += MAX_BLOCK) {
        const block = counted.slice(at, at + MAX_BLOCK).filter(({ isDropped }) => !isDropped);
        if (block.length === 0) continue;
        for (const live of await compareBlock(block)) changed.set(live, undefined);
      }
      return changed;
    },
  };
}

/** Whether each change since the last comparison has a later time than the last known one, by the clock of every node. */
function canShowChange({ reading, comparedAtMs }: LiveSession, nowMs: number, wallMs: number): boolean {
  const changedAtMs = reading?.changedAtMs;
  if (reading === undefined || changedAtMs === undefined || reading.caller.expiresAt <= wallMs) return false;
  return changedAtMs <= wallMs - (nowMs - comparedAtMs) - CLOCK_SKEW_MS;
}

function membershipsOf({ memberId, caller, others }: SessionReading): readonly Membership[] {
  const { organizationRole: role } = caller;
  const active = memberId === undefined || role === undefined ? [] : [{ id: memberId, role }];
  return [...active, ...(others ?? [])];
}

function inTime<Result>(query: Promise<Result>): Promise<Result> {
  return within(query, TIMEOUT_MS, `The session store did not respond within ${TIMEOUT_MS} ms.`);
}
