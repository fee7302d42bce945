/** Whether cached sessions still hold, on real databases. */
import type { DBAdapter } from "@better-auth/core/db/adapter";
import { Pool } from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { PrincipalCache } from "../../sessions/src/identify/principal-cache.ts";
import { createSessionChanges } from "../../sessions/src/watched/session-changes.ts";
import { createValueComparison } from "../../sessions/src/watched/session-values.ts";
import { createSessionWatch } from "../../sessions/src/watched/session-watch.ts";
import { HostTables } from "../src/store/postgres/host-tables.ts";
import { createSessionRowsQuery } from "../src/store/postgres/session-rows.ts";
import { freshMariadb, freshPostgres, freshSqlite } from "./databases.ts";
import { type Host, startHost } from "./host.ts";

const HOUR = 3_600_000;

/** A host with users, and clocks that the test moves. All rows were changed an hour before. */
async function setUp(fresh: () => Promise<{ connect(): unknown; drop(): Promise<void> }>, usesPool: boolean) {
  const { connect, drop } = (await fresh()) as Awaited<ReturnType<typeof freshSqlite>>;
  onTestFinished(drop);
  const { database, close } = connect();
  onTestFinished(close);
  const host = await startHost({ database });
  onTestFinished(host.close);
  let passedMs = HOUR;
  const clocks = { monotonicMs: () => passedMs, nowMs: () => Date.now() + passedMs };
  const adapter: DBAdapter = host.adapter;
  const fields = { role: true, activeOrganizationId: true };
  const pool = usesPool && database instanceof Pool ? database : undefined;
  const tables = HostTables.on(await host.auth.$context, pool);
  const changes = createSessionRowsQuery(tables, createSessionChanges(adapter));
  const findDifferent = createValueComparison(adapter, fields);
  const watch = createSessionWatch({ ...clocks, changes, findDifferent, intervalMs: 5 });
  const principals = new PrincipalCache({ ...clocks, watch });
  onTestFinished(() => principals.close());

  async function remember(name: string) {
    const person = await host.person(name);
    const [session] = await sessionsOf(host, person.id);
    const user = { id: person.id, email: person.email, role: "user" };
    const principal = principals.remember(
      name,
      {
        caller: { kind: "user", user },
        credentialId: String(session?.["token"]),
        rows: { token: String(session?.["token"]), userId: person.id, changedAtMs: Date.now() },
        validUntilMs: clocks.nowMs() + 10 * HOUR,
      },
      principals.now(),
    );
    if (principal === undefined) throw new Error("A change was made at the same time.");
    return { ...person, principal };
  }
  return {
    host,
    principals,
    remember,
    pass: (ms: number) => {
      passedMs += ms;
    },
  };
}

async function sessionsOf({ adapter }: Host, userId: string): Promise<Record<string, unknown>[]> {
  return adapter.findMany({ model: "session", where: [{ field: "userId", value: userId }] });
}

describe.each([
  ["PostgreSQL", freshPostgres, false],
  ["PostgreSQL, with the option `postgres`", freshPostgres, true],
  ["MariaDB", freshMariadb, false],
  ["SQLite", freshSqlite, false],
] as const)("on %s", (_name, fresh, usesPool) => {
  test("unchanged sessions are confirmed, changed and deleted ones are found", async () => {
    const { host, principals, remember, pass } = await setUp(fresh, usesPool);
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
    member.principal.addMembership(organization, { id: row?.id ?? "", role: "member" });
    const recallAll = async () => {
      pass(4900);
      const names = ["same", "changed", "signed-out", "member"];
      const found = await Promise.all(names.map(async (name) => (await principals.recall(name))?.isStale));
      return Object.fromEntries(names.map((name, at) => [name, found[at] ?? "unknown"]));
    };
    expect(await recallAll()).toEqual({ same: false, changed: false, "signed-out": false, member: false });
    await host.adapter.update({
      model: "user",
      where: [{ field: "id", value: changed.id }],
      update: { role: "admin", updatedAt: new Date(Date.now() + 2 * HOUR) },
    });
    await host.adapter.deleteMany({ model: "session", where: [{ field: "userId", value: signedOut.id }] });
    await host.adapter.update({ model: "member", where, update: { role: "owner" } });
    expect(await recallAll()).toEqual({
      same: false,
      changed: "unknown",
      "signed-out": "unknown",
      member: "unknown",
    });
    expect(same.principal.isRemoved).toBe(false);
  });

  test("a change that leaves updatedAt as it was is found by comparing values every ten minutes", async () => {
    const { host, principals, remember, pass } = await setUp(fresh, usesPool);
    const [same, other] = [await remember("same"), await remember("other")];
    const where = [{ field: "id", value: other.id }];
    // As by a change by hand, which does not update the time.
    const update = { email: "new@example.com", updatedAt: new Date("2020-01-01") };
    await host.adapter.update({ model: "user", where, update });
    principals.startWatch();
    for (let minute = 0; minute < 11; minute++) {
      pass(60_000);
      await Promise.all([principals.recall("same"), principals.recall("other")]);
    }
    await expect.poll(() => other.principal.isRemoved).toBe(true);
    expect(same.principal.isRemoved).toBe(false);
    expect(same.principal.comparedAtMs).toBeGreaterThan(HOUR);
  });
});
