/** Whether cached sessions still hold, on real databases. */
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { PrincipalCache } from "../../sessions/src/identify/principal-cache.ts";
import { watchedSessionsOf } from "../../sessions/src/watched/watched-sessions.ts";
import { freshMariadb, freshPostgres, freshSqlite } from "./databases.ts";
import { type Host, startHost } from "./host.ts";

const HOUR = 3_600_000;

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

/** A host with users, whose rows were changed an hour before, and a cache that the test lets grow old. */
async function setUp(fresh: () => Promise<{ connect(): unknown; drop(): Promise<void> }>) {
  const { connect, drop } = (await fresh()) as Awaited<ReturnType<typeof freshSqlite>>;
  onTestFinished(drop);
  const { database, close } = connect();
  onTestFinished(close);
  const host = await startHost({ database });
  onTestFinished(host.close);
  const second = connect();
  onTestFinished(second.close);
  // Another process, which announces nothing.
  const other = await startHost({ database: second.database, migrate: false });
  onTestFinished(other.close);
  const { live, reconciliation } = watchedSessionsOf((await host.auth.$context) as never);
  const principals = new PrincipalCache({ sessions: live });
  onTestFinished(() => principals.close());
  onTestFinished(() => reconciliation.stop());

  async function remember(name: string) {
    const person = await host.person(name);
    const changedAt = new Date(Math.floor((Date.now() - HOUR) / 1000) * 1000);
    await write(other, "user", person.id, { updatedAt: changedAt });
    const [session] = await sessionsOf(host, person.id);
    await write(other, "session", String(session?.["id"]), { updatedAt: changedAt });
    const user = { id: person.id, email: person.email, role: "user", sessionId: String(session?.["id"]) };
    const token = String(session?.["token"]);
    const principal = principals.remember(
      name,
      {
        caller: { kind: "user", user },
        credentialId: token,
        changedAtMs: changedAt.getTime(),
        validUntilMs: Date.now() + 10 * HOUR,
      },
      principals.now(),
    );
    if (principal === undefined) throw new Error("A change was made at the same time.");
    return { ...person, changedAt, principal };
  }
  const pass = (ms: number) => void vi.advanceTimersByTime(ms);
  return { host, other, principals, reconciliation, remember, pass };
}

async function sessionsOf({ adapter }: Host, userId: string): Promise<Record<string, unknown>[]> {
  return adapter.findMany({ model: "session", where: [{ field: "userId", value: userId }] });
}

async function write({ adapter }: Host, model: string, id: string, update: Record<string, unknown>) {
  await adapter.update({ model, where: [{ field: "id", value: id }], update });
}

describe.each([
  ["PostgreSQL", freshPostgres],
  ["MariaDB", freshMariadb],
  ["SQLite", freshSqlite],
] as const)("on %s", (_name, fresh) => {
  test("unchanged sessions are confirmed, changed and deleted ones are found", async () => {
    const { host, other, principals, remember, pass } = await setUp(fresh);
    const [same, changed, signedOut, member] = [
      await remember("same"),
      await remember("changed"),
      await remember("signed-out"),
      await remember("member"),
    ];
    const organization = await host.organization(await host.person("owner"), "own");
    await host.auth.api.addMember({
      body: { userId: member.id, organizationId: organization, role: "member" },
    });
    const where = [{ field: "userId", value: member.id }];
    const [row] = await host.adapter.findMany<{ id: string }>({ model: "member", where });
    const membership = { id: row?.id ?? "", role: "member" };
    principals.addMembership(member.principal, organization, membership, principals.now());
    const names = ["same", "changed", "signed-out", "member"];
    const recallAll = async () => {
      pass(4900);
      const found = await Promise.all(names.map(async (name) => (await principals.recall(name))?.isStale));
      return Object.fromEntries(names.map((name, at) => [name, found[at] ?? "unknown"]));
    };
    const unchanged = { same: false, changed: false, "signed-out": false, member: false };
    // Read by value, and compared after that.
    for (let round = 0; round < 3; round++) expect(await recallAll()).toEqual(unchanged);
    await write(other, "user", changed.id, { role: "admin", updatedAt: new Date() });
    await other.adapter.deleteMany({ model: "session", where: [{ field: "userId", value: signedOut.id }] });
    await other.adapter.update({ model: "member", where, update: { role: "owner" } });
    expect(await recallAll()).toEqual({
      same: false,
      changed: "unknown",
      "signed-out": "unknown",
      member: "unknown",
    });
    expect(same.principal.isRemoved).toBe(false);
  });

  test("a change that leaves updatedAt as it was is found in the background", async () => {
    const { other, principals, reconciliation, remember, pass } = await setUp(fresh);
    await remember("same");
    const { id, changedAt } = await remember("other");
    const recallBoth = () => Promise.all(["same", "other"].map((name) => principals.recall(name)));
    pass(4900);
    expect((await recallBoth()).map((found) => found?.isStale)).toEqual([false, false]);
    await reconciliation.run();
    await write(other, "user", id, { email: "new@example.com", updatedAt: changedAt });
    await reconciliation.run();
    expect((await recallBoth()).map((found) => found?.isStale)).toEqual([false, undefined]);
  });
});
