/** Writes on PostgreSQL whose locks are taken, whose backends end, and whose database refuses writes. */
import { runWithTransaction } from "@better-auth/core/context";
import { createPostgresDatabase } from "@halyard/services";
import { Client, type Pool } from "pg";
import { afterEach, beforeEach, describe, expect, type MockContext, onTestFinished, test, vi } from "vitest";
import { PostgresTransactions } from "../src/store/postgres/transactions.ts";
import { createFlagStore } from "../src/store/store.ts";
import { storageError } from "../src/store/unavailable.ts";
import { createTransactions } from "../src/store/writes/transaction.ts";
import { by } from "./contract/store-host.ts";
import { openTcpProxy } from "./contract/tcp-proxy.ts";
import { existingPostgres } from "./databases.ts";
import { type Host, startHost } from "./host.ts";

let url: string;
let drop: () => Promise<void>;
let pool: Pool;
let host: Host;

beforeEach(async () => {
  ({ url, drop } = await createPostgresDatabase());
  pool = existingPostgres(url).connect().database;
  host = await startHost({ database: pool });
});
afterEach(async () => {
  await host.close();
  await pool.end();
  await drop();
});

async function connect(): Promise<Client> {
  const client = new Client({ connectionString: url });
  // The database is dropped before it is closed.
  client.on("error", () => undefined);
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

const body = { key: "k", name: "N", type: "boolean", enabled: true, defaultValue: true } as const;
const create = () => host.auth.api.createFeatureFlag({ body });
const describeIt = (id: string, description: string) =>
  host.auth.api.updateFeatureFlag({ body: { id, description } });
const TENANT_ROW = `select 1 from "featureFlagRevision" where "tenant" = '' for update`;
const endOthers = (client: Client, condition: string) =>
  client.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid() and ${condition}`,
  );

describe("while another program holds the tenant's lock", () => {
  test("a write waits, and is answered with 503 and the time to repeat it after ten seconds", async () => {
    const [{ id }, blocker] = [await create(), await connect()];
    await blocker.query("begin");
    await blocker.query(TENANT_ROW);
    const startedAtMs = performance.now();
    await expect(describeIt(id, "late")).rejects.toMatchObject({
      statusCode: 503,
      body: { code: "STORAGE_ERROR", details: { retryAfter: 5 } },
    });
    expect(performance.now() - startedAtMs).toBeLessThan(15_000);
    expect(performance.now() - startedAtMs).toBeGreaterThan(8000);
    const waiting = describeIt(id, "in time");
    await blocker.query("rollback");
    expect(await waiting).toMatchObject({ description: "in time" });
  }, 30_000);

  test("a write inside a transaction of the host fails soon, and no timeout ends an idle transaction of the host", async () => {
    const [{ id }, blocker] = [await create(), await connect()];
    const settings = `select current_setting('lock_timeout') as lock,
      current_setting('idle_in_transaction_session_timeout') as idle`;
    await blocker.query("begin");
    await blocker.query(TENANT_ROW);
    const startedAtMs = performance.now();
    const inside = runWithTransaction(host.adapter, () => describeIt(id, "inside"));
    await expect(inside).rejects.toMatchObject({ statusCode: 503 });
    expect(performance.now() - startedAtMs).toBeLessThan(8000);
    await blocker.query("rollback");
    await runWithTransaction(host.adapter, async () => {
      await describeIt(id, "inside");
      // Longer than the 3 s after which PostgreSQL ends an idle transaction of a write.
      await new Promise((resolve) => setTimeout(resolve, 3500));
    });
    expect(
      (await host.adapter.findMany<{ description: string }>({ model: "featureFlag" }))[0]?.description,
    ).toBe("inside");
    const clients = await Promise.all(Array.from({ length: pool.totalCount }, () => pool.connect()));
    for (const client of clients) {
      expect((await client.query(settings)).rows).toEqual([{ lock: "0", idle: "0" }]);
      client.release();
    }
  }, 30_000);
});

describe("the timeout of a write", () => {
  const TIMEOUT_MS = 1000;

  async function connectSlowly(roundTripMs: number) {
    const line = await openTcpProxy(url, { roundTripMs });
    onTestFinished(line.close);
    const { database, close } = existingPostgres(line.url).connect();
    onTestFinished(close);
    const slow = await startHost({ database, migrate: false });
    onTestFinished(slow.close);
    const transactions = new PostgresTransactions(await slow.auth.$context, database, TIMEOUT_MS);
    return { line, transactions, adapter: slow.adapter };
  }

  test("concerns each statement, so a flag with many overrides is restored although it takes longer", async () => {
    const { id } = await create();
    for (let user = 0; user < 60; user++) {
      const override = { flagId: id, userId: `user-${user}`, value: false };
      await host.auth.api.createFeatureFlagOverride({ body: override });
    }
    await host.auth.api.deleteFeatureFlag({ body: { id } });
    const deletions = await host.adapter.findMany<{ entryId: string }>({
      model: "featureFlagAudit",
      where: [{ field: "action", value: "flag.deleted" }],
    });
    const { transactions, adapter } = await connectSlowly(20);
    const store = createFlagStore(adapter, {
      pollMs: 0,
      transactions: createTransactions(adapter, transactions),
      warn: () => undefined,
    });
    onTestFinished(store.close);
    const startedAtMs = performance.now();
    await store.revert(by(""), deletions[0]?.entryId ?? "");
    expect(performance.now() - startedAtMs).toBeGreaterThan(2 * TIMEOUT_MS);
    expect(await host.adapter.count({ model: "featureFlagOverride" })).toBe(60);
  }, 30_000);

  test("ends a write that PostgreSQL does not answer, and nothing is stored", async () => {
    const { id } = await create();
    const { line, transactions } = await connectSlowly(0);
    const writing = transactions.write(async (tx) => {
      const where = [{ field: "flagId", value: id }];
      await tx.update({ model: "featureFlag", where, update: { name: "lost" } });
      line.hold();
      await tx.findOne({ model: "featureFlag", where });
    });
    expect(storageError(await writing.catch((error: unknown) => error))).toMatchObject({ status: 503 });
    line.cut();
    expect(await describeIt(id, "the next one")).toMatchObject({ name: "N" });
  });
});

describe("a backend that ends", () => {
  test("inside a write does not end the process, and the write is repeated", async () => {
    const [{ id }, blocker] = [await create(), await connect()];
    await blocker.query("begin");
    await blocker.query(TENANT_ROW);
    const writing = describeIt(id, "repeated");
    await vi.waitFor(async () => {
      const { rows } = await endOthers(blocker, "wait_event_type = 'Lock'");
      expect(rows).toHaveLength(1);
    }, 5000);
    await blocker.query("rollback");
    expect(await writing).toMatchObject({ description: "repeated" });
  });

  test("of a client that the application has taken does not end the process", async () => {
    await create();
    const taken = await pool.connect();
    const ended = new Promise((resolve) => taken.once("end", resolve));
    await endOthers(await connect(), "true");
    await ended;
    taken.release(true);
    expect(await host.evaluate({ flagKey: "k" })).toMatchObject({ json: { value: true } });
  });
});

test("a read-only database leaves evaluations alone; writes are 503, and health and readiness say so", async () => {
  const admin = await host.person("admin", "admin");
  const { id } = await create();
  await host.evaluate({ flagKey: "k" });
  const operator = await connect();
  const allow = async (readOnly: boolean) => {
    await operator.query(
      `alter database ${new URL(url).pathname.slice(1)} set default_transaction_read_only = ${readOnly}`,
    );
    await endOthers(operator, "true");
  };
  await allow(true);
  const health = () => host.auth.api.getFeatureFlagsHealth();
  await vi.waitFor(async () => expect((await health()).status).toBe("degraded"), 5000);
  expect(await health()).toMatchObject({ writes: "refused", writeTimeouts: "set", stale: false });
  const ready = await host.call("GET", "/feature-flags/ready");
  expect([ready.status, ready.json]).toEqual([200, { ready: true, writes: "refused" }]);
  expect((await host.evaluate({ flagKey: "k" })).json.value).toBe(true);
  const patched = await host.call("PATCH", `/feature-flags/admin/flags/${id}`, {
    as: admin,
    body: { enabled: false },
  });
  const recorded = await host.call("POST", "/feature-flags/events", {
    body: { flagKey: "k", event: "buy", context: { anonymousId: "a" } },
  });
  for (const { status, json, headers } of [patched, recorded]) {
    expect([status, json.code, headers.get("retry-after")]).toEqual([503, "STORAGE_ERROR", "5"]);
  }
  await allow(false);
  await vi.waitFor(
    async () => expect(await health()).toMatchObject({ status: "ok", writes: "accepted" }),
    5000,
  );
  expect((await host.call("GET", "/feature-flags/ready")).json).toEqual({ ready: true });
  expect(await describeIt(id, "again")).toMatchObject({ description: "again" });
}, 30_000);

describe("a change holds its tenant's row for at most five round trips", () => {
  const rule = { priority: 1, conditions: { conditions: [] }, value: false };
  const changes: [string, () => Promise<unknown>][] = [];
  const change = (name: string, work: () => Promise<unknown>) => changes.push([name, work]);
  let flagId = "";
  const override = (userId: string) =>
    host.auth.api.createFeatureFlagOverride({ body: { flagId, userId, value: false } });
  change("creating a flag", () => host.auth.api.createFeatureFlag({ body: { ...body, key: "other" } }));
  change("updating a flag", () => describeIt(flagId, "new"));
  change("creating a rule", () => host.auth.api.createFeatureFlagRule({ body: { ...rule, flagId } }));
  change("creating an override", () => override("ann"));
  change("deleting a flag with its rules and overrides", async () => {
    await host.auth.api.createFeatureFlagRule({ body: { ...rule, flagId } });
    await override("ben");
    await host.auth.api.deleteFeatureFlag({ body: { id: flagId } });
    for (const model of ["featureFlag", "featureFlagRule", "featureFlagOverride"])
      expect(await host.adapter.count({ model })).toBe(0);
  });

  test.each(changes)("%s", async (_, work) => {
    flagId = (await create()).id;
    const query = vi.spyOn(Client.prototype, "query");
    onTestFinished(() => query.mockRestore());
    await work();
    expect(roundTrips(query.mock)).toBeLessThanOrEqual(5);
  });

  /** Of the last transaction of a write: the statements after the one that takes the lock, the commit included. */
  function roundTrips({ calls, contexts }: Pick<MockContext<Client["query"]>, "calls" | "contexts">): number {
    const asked = calls.map((args, index) => {
      const [query]: readonly unknown[] = args;
      return { text: (query as { text?: string }).text ?? String(query), client: contexts[index] };
    });
    const begin = asked.findLastIndex(({ text }) => text.startsWith("begin; set local"));
    const texts = asked
      .slice(begin)
      .filter(({ client }) => client === asked[begin]?.client)
      .map(({ text }) => text);
    const lock = texts.findIndex((text) => text.startsWith('update "featureFlagRevision"'));
    expect(lock).toBeGreaterThan(0);
    return texts.indexOf("commit") - lock;
  }
});

test("tables and columns with names of the host are counted and deleted, and the log has the flag", async () => {
  const db = await createPostgresDatabase();
  const { database, close } = existingPostgres(db.url).connect();
  const schema = {
    featureFlag: { modelName: "feature_flag", fields: { key: "flag_key", flagId: "flag_uuid" } },
    featureFlagRule: { modelName: "feature_flag_rule", fields: { flagId: "of_flag" } },
    featureFlagOverride: {
      modelName: "feature_flag_override",
      fields: { tenant: "owner", userHash: "hash" },
    },
  };
  const { auth, close: closeHost } = await startHost({ database, flags: { schema } });
  onTestFinished(async () => {
    await closeHost();
    await close();
    await db.drop();
  });
  const { id: flagId } = await auth.api.createFeatureFlag({ body });
  const rule = { flagId, priority: 1, conditions: { conditions: [] }, value: false };
  await auth.api.createFeatureFlagRule({ body: rule });
  const override = { flagId, userId: "ann", value: false };
  await auth.api.createFeatureFlagOverride({ body: override });
  await expect(auth.api.createFeatureFlagOverride({ body: override })).rejects.toMatchObject({
    statusCode: 409,
  });
  await auth.api.deleteFeatureFlag({ body: { id: flagId } });
  const { entries } = await auth.api.listFeatureFlagAuditEntries();
  expect(entries[0]?.before).toMatchObject({ id: flagId, key: "k", rules: [rule], overrides: [override] });
});
