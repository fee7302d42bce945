/**
 * Where rows have no versions, counts those that have not changed. A change shows in `updatedAt`, in the role of a user or
 * in that of a member. A count costs a tenth of reading the rows.
 */
import type { Membership, SessionReading } from "../identify/session-caller.ts";
import type { LiveSession } from "./live-session.ts";
import type { SessionChanges } from "./session-changes.ts";
import type { Comparison } from "./watched-rows.ts";

/** Sessions in one count. Some databases allow some 2,000 parameters in a query. */
const MAX_BLOCK = 1000;
/** Tolerated clock skew between nodes. */
const CLOCK_SKEW_MS = 10_000;

export function createRowCounts({
  changedSessions,
  changedMembers,
}: SessionChanges): Comparison<LiveSession> {
  async function countBlock(block: readonly LiveSession[], changed: Map<LiveSession, undefined>) {
    const rows = block.flatMap(({ reading }) =>
      reading?.changedAtMs === undefined
        ? []
        : [
            {
              token: reading.token,
              userId: reading.caller.userId,
              changedAtMs: reading.changedAtMs,
              role: reading.caller.role,
            },
          ],
    );
    // Databases may store fractions of a millisecond, which a `Date` does not hold.
    const since = new Date(rows.reduce((latest, row) => Math.max(latest, row.changedAtMs), 0) + 1);
    const tokens = await changedSessions(rows, since);
    const members = new Set<string>();
    for (const [role, ids] of membersByRole(block)) {
      for (const id of await changedMembers(ids, role)) members.add(id);
    }
    for (const live of block) {
      const { reading } = live;
      if (
        reading === undefined ||
        tokens.has(reading.token) ||
        membershipsOf(reading).some(({ id }) => members.has(id))
      )
        changed.set(live, undefined);
    }
  }

  return {
    byValueMs: 60_000,
    minByValue: 500,
    async findChanged(sessions) {
      const changed = new Map<LiveSession, undefined>();
      const counted: LiveSession[] = [];
      const nowMs = performance.now();
      const wallMs = Date.now();
      for (const live of sessions) {
        if (canShowChange(live, nowMs, wallMs)) counted.push(live);
        else changed.set(live, undefined);
      }
      for (let at = 0; at < counted.length; at += MAX_BLOCK) {
        const block = counted.slice(at, at + MAX_BLOCK).filter(({ isDropped }) => !isDropped);
        if (block.length > 0) await countBlock(block, changed);
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

function membersByRole(block: readonly LiveSession[]): Map<string, Set<string>> {
  const byRole = new Map<string, Set<string>>();
  for (const { reading } of block) {
    if (reading === undefined) continue;
    for (const { id, role } of membershipsOf(reading))
      byRole.set(role, (byRole.get(role) ?? new Set()).add(id));
  }
  return byRole;
}

const NONE: readonly Membership[] = [];

function membershipsOf({ memberId, caller, others }: SessionReading): readonly Membership[] {
  const { organizationRole } = caller;
  const further: readonly Membership[] = others ?? NONE;
  if (memberId === undefined || organizationRole === undefined) return further;
  return [{ id: memberId, role: organizationRole }, ...further];
}
