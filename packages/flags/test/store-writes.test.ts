/** Checks writes that need a long audit log, a full tenant or clocks that differ. No database differs here from SQLite. */
import { runWithTransaction } from "@better-auth/core/context";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import type { AuditHead } from "../src/model/audit.ts";
import { ContentsBuilder } from "../src/store/snapshot/contents.ts";
import { createFlagStore } from "../src/store/store.ts";
import { readRevision } from "../src/store/writes/revision.ts";
import { MAX_TENANT_COST } from "../src/store/writes/tenant-limits.ts";
import { createTransactions } from "../src/store/writes/transaction.ts";
import { type Change, type Unchanged, type Writer, write } from "../src/store/writes/write.ts";
import {
  by,
  everyone,
  flagInput,
  fresh,
  type Node,
  openStoreHost,
  refusalOf,
  type StoreHost,
} from "./contract/store-host.ts";
import { freshSqlite } from "./databases.ts";

let host: StoreHost;
beforeAll(async () => {
  host = await openStoreHost({ open: freshSqlite });
});
afterAll(() => host?.close());

async function another(options?: Parameters<StoreHost["another"]>[0]): Promise<Node> {
  const node = await host.another(options);
  onTestFinished(node.close);
  return node;
}

test("the answer of an update that changes nothing belongs to the caller, who may change it", async () => {
  const { store } = host;
  const tenant = fresh("tenant");
  const { id } = await store.createFlag(by(tenant), flagInput({ name: "N" }));
  const rule = await store.createRule(by(tenant), id, { priority: 1, conditions: everyone, value: true });
  const segment = await store.createSegment(by(tenant), { key: "s", conditions: everyone });
  const updates = [
    () => store.updateFlag(by(tenant), id, { name: "N" }),
    () => store.updateRule(by(tenant), id, rule.id, { value: true }),
    () => store.updateSegment(by(tenant), segment.id, { conditions: everyone }),
  ];
  for (const update of updates) {
    const answer = await update();
    const unchanged = structuredClone(answer);
    Object.assign(answer, { id: "of the caller" }).createdAt.setTime(0);
    expect(await update()).toEqual(unchanged);
  }
});

test("a stored flag that is invalid is a problem of reads, and writes are still accepted", async () => {
  const damaged = await openStoreHost({ open: freshSqlite });
  onTestFinished(damaged.close);
  const { key } = await damaged.store.createFlag(by(""), flagInput());
  const where = [{ field: "tenant", value: "" }];
  await damaged.adapter.update({ model: "featureFlag", where, update: { type: "colour" } });
  const { store } = await damaged.another();
  const health = await store.health("");
  expect([health.problem, health.writes]).toEqual([expect.stringContaining(key), "accepted"]);
});

describe("an audit log that takes several queries to read", () => {
  const ENTRIES = 210;
  const tenant = fresh("tenant");
  const model = "featureFlagAudit";
  const at = (revision: number) => [
    { field: "tenant", value: tenant },
    { field: "revision", value: revision },
  ];
  let behind: Node;

  beforeAll(async () => {
    const { store } = host;
    const { id } = await store.createFlag(by(tenant), flagInput());
    await store.createFlag(by(fresh("tenant")), flagInput());
    // Its time stands still, so that its snapshot does not age.
    behind = await host.another({ monotonicMs: () => 0 });
    await behind.store.snapshot(tenant);
    for (let change = 2; change <= ENTRIES; change++) {
      await store.updateFlag(by(tenant), id, { name: `N ${change}` });
    }
  });

  test("brings a process that was behind up to date by its changes alone", async () => {
    const finds = vi.spyOn(behind.adapter, "findMany");
    onTestFinished(() => finds.mockRestore());
    const { snapshot } = await behind.store.snapshot(tenant, ENTRIES);
    expect(snapshot.revision).toBe(ENTRIES);
    expect([...snapshot.flags.values()].map(({ flag }) => flag.name)).toEqual([`N ${ENTRIES}`]);
    expect(new Set(finds.mock.calls.map(([query]) => query.model))).toEqual(new Set([model]));
  });

  test("is read from a revision on, oldest first and up to a limit", async () => {
    const revisions = async (after: number, limit: number) =>
      (await host.store.readAudit(tenant, { after, limit })).map(({ revision }) => revision);
    expect(await revisions(0, 3)).toEqual([1, 2, 3]);
    expect(await revisions(208, 50)).toEqual([209, 210]);
    expect(await revisions(210, 50)).toEqual([]);
  });

  test("is verified to its end, with any of its heads", async () => {
    const { store, adapter } = host;
    expect(await store.verifyAudit(tenant)).toEqual({ ok: true, entries: ENTRIES });
    for (const revision of [1, 50, 51, 100, 101, ENTRIES]) {
      const row = await adapter.findOne<{ hash: string }>({ model, where: at(revision) });
      const hash = row?.hash ?? "";
      expect(await store.verifyAudit(tenant, { revision, hash })).toEqual({ ok: true, entries: ENTRIES });
      const problem = "the entry is not the given head";
      expect(await store.verifyAudit(tenant, { revision, hash: "0" })).toEqual({
        ok: false,
        revision,
        problem,
      });
    }
    expect(await store.verifyAudit(tenant, { revision: ENTRIES + 1, hash: "0" })).toEqual({
      ok: false,
      revision: ENTRIES + 1,
      problem: "the log ends before the given head",
    });
  });

  test("shows the first of several problems", async () => {
    const { store, adapter } = host;
    for (const revision of [205, 101, 100, 52]) {
      await adapter.update({ model, where: at(revision), update: { actorId: "else" } });
      const problem = "the entry has been changed";
      expect(await store.verifyAudit(tenant)).toEqual({ ok: false, revision, problem });
    }
    for (const revision of [51, 50, 1]) {
      await adapter.delete({ model, where: at(revision) });
      const problem = "the entry is missing";
      expect(await store.verifyAudit(tenant)).toEqual({ ok: false, revision, problem });
    }
    await behind.close();
  });
});

describe("the limits of a tenant", () => {
  const expensive = {
    conditions: [{ attribute: "a", operator: "regex" as const, value: "(?:a?){80}a{80}" }],
  };
  const refused = { status: 400, code: "VALIDATION_ERROR", details: { limit: MAX_TENANT_COST } };
  const addRule = async ({ store }: Pick<Node, "store">, tenant: string) => {
    const { id } = await store.createFlag(by(tenant), flagInput());
    const rule = { priority: 1, conditions: expensive, value: true };
    return { flagId: id, ruleId: (await store.createRule(by(tenant), id, rule)).id };
  };
  /** Adds rules until one more would exceed the limit. */
  async function fill(node: Pick<Node, "store">, tenant: string) {
    const added = [];
    while (added.length < 20) {
      try {
        added.push(await addRule(node, tenant));
      } catch (error) {
        expect(error).toMatchObject(refused);
        return added;
      }
    }
    throw new Error("The limit was not reached.");
  }

  test("count what other processes have written since this one last read the flags", async () => {
    const tenant = fresh("tenant");
    const behind = await another({ monotonicMs: () => 0 });
    await behind.store.snapshot(tenant);
    const [first] = await fill(host, tenant);
    expect(await refusalOf(addRule(behind, tenant))).toMatchObject(refused);
    await host.store.deleteRule(by(tenant), first?.flagId ?? "", first?.ruleId ?? "");
    expect(await addRule(behind, tenant)).toHaveProperty("ruleId");
  });

  test("hold inside a transaction of the host, in a process that has read no flags", async () => {
    const tenant = fresh("tenant");
    await fill(host, tenant);
    const node = await another();
    await node.store.createFlag(by(fresh("tenant")), flagInput());
    const inside = runWithTransaction(node.adapter, () => addRule(node, tenant));
    expect(await refusalOf(inside)).toMatchObject(refused);
  });

  test("hold for the rules of a deleted flag that a revert brings back", async () => {
    const tenant = fresh("tenant");
    const { store } = host;
    const [first] = await fill(host, tenant);
    await store.deleteFlag(by(tenant), first?.flagId ?? "");
    const [deleted] = await store.listAudit({ tenant }, { limit: 1, offset: 0 });
    await fill(host, tenant);
    expect(await refusalOf(store.revert(by(tenant), deleted?.id ?? ""))).toMatchObject(refused);
    expect(await store.verifyAudit(tenant)).toMatchObject({ ok: true });
  });

  test("do not keep a tenant with a damaged row from being changed", async () => {
    const tenant = fresh("tenant");
    const damaged = await host.store.createFlag(by(tenant), flagInput());
    const sound = await host.store.createFlag(by(tenant), flagInput());
    const where = [{ field: "flagId", value: damaged.id }];
    await host.adapter.update({ model: "featureFlag", where, update: { defaultValue: "tru" } });
    const node = await another();
    expect(await node.store.updateFlag(by(tenant), sound.id, { name: "M" })).toMatchObject({ name: "M" });
  });
});

describe("the time of a change", () => {
  const NOW = Date.UTC(2031, 0, 1);
  const HOUR_MS = 3_600_000;

  test.each([
    ["the same", 0, 1],
    ["an hour ahead", HOUR_MS, HOUR_MS + 1],
    ["more than an hour ahead", HOUR_MS + 1, 0],
    ["a second behind", -1000, 0],
  ])("after one by a clock that is %s", async (_name, aheadMs, expectedMs) => {
    const tenant = fresh("tenant");
    const clock = { nowMs: NOW + aheadMs };
    const { store } = await another({ nowMs: () => clock.nowMs });
    await store.createFlag(by(tenant), flagInput());
    clock.nowMs = NOW;
    const { createdAt } = await store.createFlag(by(tenant), flagInput());
    expect(createdAt.getTime() - NOW).toBe(expectedMs);
    const [entry] = await store.listAudit({ tenant }, { limit: 1, offset: 0 });
    expect(entry?.at).toEqual(createdAt);
  });

  test("that changed nothing does not move the log's own time", async () => {
    const tenant = fresh("tenant");
    const clock = { nowMs: NOW };
    const { store } = await another({ nowMs: () => clock.nowMs });
    const { id } = await store.createFlag(by(tenant), flagInput());
    clock.nowMs += 60_000;
    await store.updateFlag(by(tenant), id, {});
    clock.nowMs = NOW + 1;
    const { createdAt } = await store.createFlag(by(tenant), flagInput());
    expect(createdAt.getTime()).toBe(NOW + 1);
  });
});

test("only an entry of an organization names one", async () => {
  const [tenant, { store }] = [fresh("tenant"), host];
  for (const owner of [tenant, ""]) await store.createFlag(by(owner), flagInput());
  const [theirs] = await store.listAudit({ tenant }, { limit: 1, offset: 0 });
  const [global] = await store.listAudit({ tenant: "" }, { limit: 1, offset: 0 });
  expect(theirs).toHaveProperty("organizationId", tenant);
  expect(global).not.toHaveProperty("organizationId");
});

test("the head of the log is announced after the host's transaction, and not if it was rolled back", async () => {
  const tenant = fresh("tenant");
  const heads: AuditHead[] = [];
  const { store, adapter } = await another({ onAuditHead: (head) => void heads.push(head) });
  await store.createFlag(by(tenant), flagInput());
  const input = flagInput();
  await runWithTransaction(adapter, async () => {
    await store.createFlag(by(tenant), input);
    expect(heads.map(({ revision }) => revision)).toEqual([1]);
  });
  expect(heads.map(({ revision }) => revision)).toEqual([1, 2]);
  expect((await store.snapshot(tenant)).snapshot.flags.has(input.key)).toBe(true);
  const failed = runWithTransaction(adapter, async () => {
    await store.createFlag(by(tenant), flagInput());
    throw new Error("the host changes its mind");
  });
  await expect(failed).rejects.toThrow("changes its mind");
  expect(heads.map(({ revision }) => revision)).toEqual([1, 2]);
});

describe("a write", () => {
  const changed = <Result>(result: Result): Change<Result> => ({
    action: "flag.deleted",
    flagId: "f",
    flagKey: "f",
    entityId: "f",
    before: null,
    after: null,
    rows: async () => undefined,
    result,
  });
  const unchanged: Unchanged<void> = { action: null, result: undefined };

  /** A writer that shows which tables its transactions read. */
  function watchedWriter(fields: Partial<Writer> = {}): Writer & { models: string[] } {
    const { adapter } = host;
    const models: string[] = [];
    const transactions = createTransactions(adapter);
    return {
      adapter,
      models,
      transactions: {
        ...transactions,
        run: (work) =>
          transactions.run((tx) =>
            work({
              ...tx,
              findMany(query) {
                models.push(query.model);
                return tx.findMany(query);
              },
            }),
          ),
      },
      nowMs: () => Date.UTC(2031, 0, 1),
      snapshot: async () => undefined,
      peek: () => undefined,
      committed: async () => {},
      ...fields,
    };
  }

  test("reads no entities for the limits if those in memory are current", async () => {
    const tenant = fresh("tenant");
    await write(watchedWriter(), by(tenant), async () => changed(undefined));
    const known = { ...(await readRevision(host.adapter, tenant)), contents: new ContentsBuilder() };
    const behind = { ...known, revision: 0, auditHash: "" };
    for (const [fields, isRead] of [
      [{ peek: () => known }, false],
      [{ snapshot: async () => known }, false],
      [{ peek: () => known, snapshot: async () => behind }, false],
      [{}, true],
    ] as const) {
      const writer = watchedWriter(fields);
      await write(writer, by(tenant), async () => unchanged);
      expect(writer.models.includes("featureFlag")).toBe(isRead);
      expect(writer.models.includes("featureFlagAudit")).toBe(false);
    }
  });

  test("inside a transaction of the host reads nothing outside of it", async () => {
    const tenant = fresh("tenant");
    const snapshot = vi.fn(async () => undefined);
    const writer = watchedWriter({ snapshot });
    await write(writer, by(tenant), async () => unchanged);
    expect(snapshot.mock.calls).toEqual([[tenant]]);
    await runWithTransaction(host.adapter, () => write(writer, by(tenant), async () => unchanged));
    expect(snapshot).toHaveBeenCalledTimes(1);
  });

  test("may take thousands of ids, which sort in their order and before those of the next write", async () => {
    const tenant = fresh("tenant");
    const take = (count: number) =>
      write(watchedWriter(), by(tenant), async ({ newId }) =>
        changed(Array.from({ length: count }, () => newId())),
      );
    const ids = [...(await take(9000)), ...(await take(2))];
    const isInOrder = ids.every((id, index) => index === 0 || id > (ids[index - 1] ?? ""));
    expect([ids.length, isInOrder]).toEqual([9002, true]);
  });

  test("that makes several changes has a revision and an entry for each", async () => {
    const tenant = fresh("tenant");
    const { store } = host;
    const { id } = await store.createFlag(by(tenant), flagInput());
    await store.createRule(by(tenant), id, { priority: 1, conditions: { conditions: [] }, value: true });
    await store.createOverride(by(tenant), { flagId: id, userId: "u", value: true });
    await store.deleteFlag(by(tenant), id);
    const [deleted] = await store.listAudit({ tenant }, { limit: 1, offset: 0 });
    const actor = { type: "user", id: "ann" } as const;
    await store.revert({ ...by(tenant), actor }, deleted?.id ?? "");
    expect(await store.listAudit({ tenant }, { limit: 3, offset: 0 })).toMatchObject([
      { revision: 7, action: "flag.created", actor },
      { revision: 6, action: "override.created", actor },
      { revision: 5, action: "rule.created", actor },
    ]);
    expect(await store.verifyAudit(tenant)).toEqual({ ok: true, entries: 7 });
    expect((await store.snapshot(tenant)).snapshot.revision).toBe(7);
  });

  test("that is the first of its tenant is repeated if it lost to another one", async () => {
    const tenant = fresh("tenant");
    const { adapter } = await another();
    const create = vi
      .fn(adapter.create)
      .mockRejectedValueOnce(Object.assign(new Error("database is locked"), { code: "SQLITE_BUSY" }));
    const store = createFlagStore({ ...adapter, create } as typeof adapter, { pollMs: 0, warn: () => {} });
    onTestFinished(() => store.close());
    await store.createFlag(by(tenant), flagInput());
    expect(create.mock.calls.length).toBeGreaterThan(1);
    expect(await store.verifyAudit(tenant)).toEqual({ ok: true, entries: 1 });
  });
});
