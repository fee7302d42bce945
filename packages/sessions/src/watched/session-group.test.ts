import { describe, expect, test } from "vitest";
import { CachedPrincipal } from "../identify/cached-principal.ts";
import { groupSessions, SessionGroup } from "./session-group.ts";

const START = Date.parse("2026-06-01T12:00:00Z");
/** The tolerated difference between the clocks of two nodes. */
const SKEW_MS = 10_000;

const at = (ms: number) => ({ monotonicMs: ms, wallMs: START + ms });

/** A session that was verified at this time, and whose rows changed so long before. */
function verified(name: string, ms: number, changedAgoMs: number): CachedPrincipal {
  const rows = { token: name, userId: name, changedAtMs: START + ms - changedAgoMs };
  const caller = { kind: "user" as const, user: { id: name, email: "" } };
  const facts = { caller, credentialId: name, rows, validUntilMs: Number.POSITIVE_INFINITY };
  return new CachedPrincipal(name, facts, at(ms));
}

const groupsOf = (...principals: CachedPrincipal[]) =>
  [...groupSessions(principals)].map((group) => ({
    names: group.principals.map(({ cacheKey }) => cacheKey),
    sinceMs: group.since && group.since.getTime() - START,
  }));

describe("sessions are grouped so that one time shows the changes of all", () => {
  test("which is just after the latest change that is known", () => {
    const [ann, bob] = [verified("ann", 0, 60_000), verified("bob", 5000, 20_000)];
    expect(groupsOf(ann, bob)).toEqual([{ names: ["ann", "bob"], sinceMs: -14_999 }]);
    expect(groupsOf()).toEqual([]);
  });

  test("and each is in one group, also one that changed at the last time that fits", () => {
    const edge = verified("edge", 0, SKEW_MS);
    const later = verified("later", 30_000, SKEW_MS);
    expect(groupsOf(edge)).toEqual([{ names: ["edge"], sinceMs: 1 - SKEW_MS }]);
    expect(groupsOf(edge, later)).toEqual([
      { names: ["edge"], sinceMs: 1 - SKEW_MS },
      { names: ["later"], sinceMs: 20_001 },
    ]);
  });

  test("and those that changed too recently have no such time", () => {
    const recent = verified("recent", 0, SKEW_MS - 1);
    expect(groupsOf(recent)).toEqual([{ names: ["recent"], sinceMs: undefined }]);
    expect(groupsOf(verified("ann", 0, SKEW_MS), recent)).toEqual([
      { names: ["ann"], sinceMs: 1 - SKEW_MS },
      { names: ["recent"], sinceMs: undefined },
    ]);
  });

  test("and a caller without rows is in none", () => {
    const caller = { kind: "key" as const, key: { id: "k", actions: [], ownerId: "ann" } };
    const facts = { caller, credentialId: "k", validUntilMs: Number.POSITIVE_INFINITY };
    expect(() => groupsOf(new CachedPrincipal("k", facts, at(0)))).toThrow("without session rows");
  });
});

test("a caller whose membership was found later is not confirmed with the group, nor when it ends", () => {
  const [ann, bob] = [verified("ann", 0, 60_000), verified("bob", 0, 60_000)];
  const [group] = groupSessions([ann, bob]);
  if (!(group instanceof SessionGroup)) throw new Error("No group.");
  group.keep();
  group.confirm(at(4000));
  ann.addMembership("acme", { id: "m1", role: "owner" });
  group.confirm(at(8000));
  const confirmedAt = () => [ann, bob].map((one) => one.confirmedAt.monotonicMs);
  expect(confirmedAt()).toEqual([4000, 8000]);
  group.release();
  group.confirm(at(12_000));
  expect(confirmedAt()).toEqual([4000, 8000]);
});
