/** The contract of the store for the audit log: one entry per revision, and every later change to the log is found. */
import { createHash } from "node:crypto";
import { getCurrentAdapter, runWithTransaction } from "@better-auth/core/context";
import { describe, expect, test } from "vitest";
import type { AuditHead } from "../../src/model/audit.ts";
import type { AuditRow, RevisionRow } from "../../src/model/tables.ts";
import { createFlagStore } from "../../src/store/store.ts";
import { afterEveryRead, by, everyone, flagInput, fresh, type StoreHost, stored } from "./store-host.ts";

const CREATED_AT_MS = Date.UTC(2026, 0, 1);

export function describeAudit(host: () => StoreHost): void {
  const whereTenant = (tenant: string) => [{ field: "tenant", value: tenant }];
  const revisionRows = (tenant: string) =>
    host().adapter.findMany<RevisionRow>({ model: "featureFlagRevision", where: whereTenant(tenant) });
  const auditRows = (tenant: string) =>
    host().adapter.findMany<AuditRow>({
      model: "featureFlagAudit",
      where: whereTenant(tenant),
      sortBy: { field: "revision", direction: "asc" },
      limit: 10_000,
    });

  describe("the audit log", () => {
    test("has one entry per revision, each with the hash of the previous one", async () => {
      const tenant = fresh("tenant");
      const { store } = host();
      const scope = by(tenant);
      const flag = await store.createFlag(scope, flagInput());
      const rule = await store.createRule(scope, flag.id, { priority: 1, conditions: everyone, value: true });
      await store.updateRule(scope, flag.id, rule.id, { priority: 2 });
      const override = await store.createOverride(scope, { flagId: flag.id, userId: "u", value: true });
      const segment = await store.createSegment(scope, { key: "s", conditions: everyone });
      await store.updateSegment(scope, segment.id, { name: "S" });
      await store.deleteSegment(scope, segment.id);
      await store.deleteOverride(scope, override.id);
      await store.deleteRule(scope, flag.id, rule.id);
      await store.updateFlag(scope, flag.id, { name: "M" });
      await store.deleteFlag(scope, flag.id);

      const entries = await auditRows(tenant);
      expect(entries.map(({ revision }) => revision)).toEqual(entries.map((_, index) => index + 1));
      expect(entries.map(({ action }) => action)).toEqual([
        "flag.created",
        "rule.created",
        "rule.updated",
        "override.created",
        "segment.created",
        "segment.updated",
        "segment.deleted",
        "override.deleted",
        "rule.deleted",
        "flag.updated",
        "flag.deleted",
      ]);
      let prevHash = "";
      for (const entry of entries) {
        expect(entry.prevHash).toBe(prevHash);
        // Written out here once more, so that a change to what is hashed cannot go unnoticed.
        const text = JSON.stringify([
          entry.prevHash,
          entry.entryId,
          entry.tenant,
          entry.revision,
          entry.at,
          entry.action,
          entry.actorType,
          entry.actorId,
          entry.flagId,
          entry.flagKey,
          entry.entityId,
          entry.before,
          entry.after,
          entry.ip,
          entry.userAgent,
          entry.requestId,
          entry.impersonatedBy,
          entry.changeId,
          entry.note,
        ]);
        prevHash = createHash("sha256").update(text).digest("hex");
        expect(entry.hash).toBe(prevHash);
      }
      expect(await revisionRows(tenant)).toMatchObject([{ revision: entries.length, auditHash: prevHash }]);
      expect(await store.verifyAudit(tenant)).toEqual({ ok: true, entries: entries.length });
    });

    test("has the actor, the origin, and the entity before and after the change", async () => {
      const tenant = fresh("tenant");
      const { store } = host();
      const long = "ü".repeat(2000);
      const origin = { ip: long, userAgent: long, requestId: long, impersonatedBy: "root" };
      const actor = { type: "user", id: "ann" } as const;
      const flag = await store.createFlag({ tenant, actor, origin }, flagInput({ type: "json" }));
      const rule = await store.createRule({ tenant, actor: { type: "key", id: "k" }, origin: {} }, flag.id, {
        priority: 1,
        conditions: everyone,
        value: [1],
      });
      const changed = await store.updateRule(by(tenant), flag.id, rule.id, { priority: 2 });
      const entries = await store.listAudit({ tenant }, { limit: 10, offset: 0 });
      const json = (value: unknown) => JSON.parse(JSON.stringify(value));
      expect(entries).toMatchObject([
        {
          revision: 3,
          action: "rule.updated",
          actor: { type: "system", id: "system" },
          entityId: rule.id,
          before: json(rule),
          after: json(changed),
        },
        { revision: 2, action: "rule.created", actor: { type: "key", id: "k" }, before: null },
        {
          revision: 1,
          action: "flag.created",
          actor,
          organizationId: tenant,
          flagId: flag.id,
          flagKey: flag.key,
          entityId: flag.id,
          before: null,
          after: json(stored(flag)),
          ip: "ü".repeat(512),
          userAgent: "ü".repeat(512),
          requestId: "ü".repeat(512),
          impersonatedBy: "root",
        },
      ]);
      for (const field of Object.keys(origin)) expect(entries[1]).not.toHaveProperty(field);
      expect(await store.verifyAudit(tenant)).toEqual({ ok: true, entries: 3 });
      const id = entries[0]?.id ?? "";
      expect(await store.auditFacts({ id })).toEqual({ tenant, actions: ["rule.updated"] });
      expect(await store.auditFacts({ id: fresh("entry") })).toBeUndefined();
      expect(entries[0]?.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-/);
    });

    test("keeps a deleted flag with its rules and overrides, however large they are", async () => {
      const tenant = fresh("tenant");
      const { store, adapter } = host();
      const scope = by(tenant);
      const flag = await store.createFlag(scope, flagInput({ type: "string" }));
      // Every character is a surrogate pair, and all values together are larger than a column.
      const value = "\u{1f600}".repeat(12_000);
      const rules = [];
      for (const priority of [3, 1]) {
        rules.push(await store.createRule(scope, flag.id, { priority, conditions: everyone, value }));
      }
      const override = await store.createOverride(scope, { flagId: flag.id, userId: "ann", value: "o" });
      await store.deleteFlag(scope, flag.id);
      const [entry] = await store.listAudit({ tenant }, { limit: 1, offset: 0 });
      const json = (entity: unknown) => JSON.parse(JSON.stringify(entity));
      expect(entry?.before).toEqual({
        ...json(stored(flag)),
        rules: rules.map((rule, index) => ({ ...json(rule), salt: rule.id, position: index + 2 })),
        overrides: [json(override)],
      });
      expect(await store.verifyAudit(tenant)).toEqual({ ok: true, entries: 5 });
      const where = [{ field: "entryId", value: entry?.id ?? "" }];
      expect(await adapter.deleteMany({ model: "featureFlagAuditPart", where })).toBeGreaterThan(0);
      expect(await store.verifyAudit(tenant)).toEqual({
        ok: false,
        revision: 5,
        problem: "the entry has been changed",
      });
      expect(await store.listAudit({ tenant }, { limit: 1, offset: 0 })).toMatchObject([{ id: entry?.id }]);
    });

    test("keeps 1,000 overrides of a deleted flag, and the number and a digest of all if it had more", async () => {
      const tenant = fresh("tenant");
      const { store, adapter } = host();
      const flag = await store.createFlag(by(tenant), flagInput());
      const ids = Array.from(
        { length: 1001 },
        (_, index) => `${fresh("o")}-${String(index).padStart(4, "0")}`,
      );
      await runWithTransaction(adapter, async () => {
        const tx = await getCurrentAdapter(adapter);
        for (const overrideId of ids.sort()) {
          const [userId, value] = [`user of ${overrideId}`, "true"];
          const row = { tenant, overrideId, flagId: flag.id, userId, userHash: overrideId, value };
          const rest = {
            variant: null,
            enabled: true,
            reason: null,
            expiresAt: null,
            createdAt: new Date(CREATED_AT_MS),
          };
          await tx.create({ model: "featureFlagOverride", data: { ...row, ...rest } });
        }
      });
      await store.deleteFlag(by(tenant), flag.id);
      let overridesDigest = "";
      for (const id of ids) {
        const base = { id, flagId: flag.id, userId: `user of ${id}`, value: true, enabled: true };
        const text = JSON.stringify({ ...base, createdAt: new Date(CREATED_AT_MS) });
        overridesDigest = createHash("sha256")
          .update(overridesDigest + text)
          .digest("hex");
      }
      const [entry] = await store.listAudit({ tenant }, { limit: 1, offset: 0 });
      expect(entry?.before).toMatchObject({ overrideCount: 1001, overridesDigest });
      expect(entry?.before).toHaveProperty(
        "overrides",
        ids.slice(0, 1000).map((id) => expect.objectContaining({ id })),
      );
      expect(await store.verifyAudit(tenant)).toEqual({ ok: true, entries: 2 });
    });

    test("is filtered by flag, actor, verb and time, and outlives the flag", async () => {
      const tenant = fresh("tenant");
      const { another } = host();
      const clock = { nowMs: Date.UTC(2031, 0, 1) };
      const { store, close } = await another({ nowMs: () => clock.nowMs++ });
      const flag = await store.createFlag(by(tenant), flagInput());
      await store.createFlag({ ...by(tenant), actor: { type: "user", id: "Ann" } }, flagInput());
      await store.updateFlag({ ...by(tenant), actor: { type: "user", id: "ann" } }, flag.id, { name: "M" });
      await store.createSegment(by(tenant), { key: "s", conditions: everyone });
      await store.deleteFlag(by(tenant), flag.id);
      const revisions = async (query: object) =>
        (await store.listAudit({ tenant }, { limit: 50, offset: 0, ...query })).map(
          ({ revision }) => revision,
        );
      expect(await revisions({})).toEqual([5, 4, 3, 2, 1]);
      expect(await revisions({ limit: 2, offset: 1 })).toEqual([4, 3]);
      expect(await revisions({ flagId: flag.id })).toEqual([5, 3, 1]);
      expect(await revisions({ userId: "ann" })).toEqual([3]);
      for (const query of [{ flagId: "\0" }, { userId: "\0" }]) expect(await revisions(query)).toEqual([]);
      expect(await revisions({ action: "create" })).toEqual([4, 2, 1]);
      expect(await revisions({ action: "update" })).toEqual([3]);
      expect(await revisions({ action: "delete" })).toEqual([5]);
      expect(await revisions({ action: "evaluate" })).toEqual([]);
      const entries = await store.listAudit({ tenant }, { limit: 50, offset: 0 });
      const second = entries.find(({ revision }) => revision === 2)?.at.toISOString();
      const fourth = entries.find(({ revision }) => revision === 4)?.at.toISOString();
      expect(await revisions({ start: second, end: fourth })).toEqual([3, 2]);
      const all = await store.listAudit("all", { limit: 5, offset: 0 });
      const times = all.map(({ at }) => at.getTime());
      expect(times).toEqual(times.toSorted((a, b) => b - a));
      await close();
    });

    test("shows a damaged text as it is", async () => {
      const tenant = fresh("tenant");
      const { store, adapter } = host();
      await store.createFlag(by(tenant), flagInput());
      await adapter.update({
        model: "featureFlagAudit",
        where: whereTenant(tenant),
        update: { after: '{"key":' },
      });
      const [entry] = await store.listAudit({ tenant }, { limit: 1, offset: 0 });
      expect(entry).toMatchObject({ before: null, after: '{"key":' });
    });

    test("shows where it was tampered with", async () => {
      const { store, adapter } = host();
      const tamper = async (change: (tenant: string) => Promise<unknown>) => {
        const tenant = fresh("tenant");
        for (let write = 0; write < 3; write++) await store.createFlag(by(tenant), flagInput());
        await change(tenant);
        return store.verifyAudit(tenant);
      };
      const second = (tenant: string) => [...whereTenant(tenant), { field: "revision", value: 2 }];
      const model = "featureFlagAudit";
      expect(
        await tamper((tenant) =>
          adapter.update({ model, where: second(tenant), update: { actorId: "else" } }),
        ),
      ).toEqual({ ok: false, revision: 2, problem: "the entry has been changed" });
      expect(await tamper((tenant) => adapter.delete({ model, where: second(tenant) }))).toEqual({
        ok: false,
        revision: 2,
        problem: "the entry is missing",
      });
      expect(
        await tamper((tenant) => adapter.update({ model, where: second(tenant), update: { prevHash: "" } })),
      ).toEqual({ ok: false, revision: 2, problem: "the entry does not continue the previous one" });
      expect(
        await tamper((tenant) =>
          adapter.update({
            model: "featureFlagRevision",
            where: whereTenant(tenant),
            update: { auditHash: "0" },
          }),
        ),
      ).toEqual({ ok: false, revision: 3, problem: "the last entry is not the head of the log" });
      expect(await store.verifyAudit(fresh("tenant"))).toEqual({ ok: true, entries: 0 });
    });

    test("shows that entries were removed at either end, or added beyond it", async () => {
      const { store, adapter } = host();
      const model = "featureFlagAudit";
      const revision = (operator: "lte" | "gt", value: number) => ({ field: "revision", operator, value });
      const tampered = async (change: (tenant: string) => Promise<unknown>) => {
        const tenant = fresh("tenant");
        for (let write = 0; write < 4; write++) await store.createFlag(by(tenant), flagInput());
        await change(tenant);
        return store.verifyAudit(tenant);
      };
      const without = (operator: "lte" | "gt", value: number) =>
        tampered((tenant) =>
          adapter.deleteMany({ model, where: [...whereTenant(tenant), revision(operator, value)] }),
        );
      const missing = { ok: false, problem: "the entry is missing" };
      expect(await without("gt", 3)).toEqual({ ...missing, revision: 4 });
      expect(await without("gt", 2)).toEqual({ ...missing, revision: 3 });
      expect(await without("gt", 0)).toEqual({ ...missing, revision: 1 });
      expect(await without("lte", 1)).toEqual({ ...missing, revision: 1 });
      expect(await without("lte", 3)).toEqual({ ...missing, revision: 1 });
      const added = (at: number) =>
        tampered(async (tenant) => {
          const { id: _id, ...last } = (await auditRows(tenant)).at(-1) ?? { id: "" };
          await adapter.create({ model, data: { ...last, entryId: fresh("entry"), revision: at } });
        });
      expect(await added(5)).toEqual({
        ok: false,
        revision: 5,
        problem: "the entry is later than the head of the log",
      });
      expect(await added(0)).toEqual({
        ok: false,
        revision: 1,
        problem: "an entry with an earlier revision was added",
      });
    });

    test("that was cut together with its head no longer contains the head that was kept elsewhere", async () => {
      const tenant = fresh("tenant");
      const kept: AuditHead[] = [];
      const { store, adapter, close } = await host().another({ onAuditHead: (head) => void kept.push(head) });
      for (let write = 0; write < 3; write++) await store.createFlag(by(tenant), flagInput());
      const rows = await auditRows(tenant);
      expect(kept).toEqual(rows.map(({ revision, hash }) => ({ organizationId: tenant, revision, hash })));
      for (const head of kept) {
        expect(await store.verifyAudit(tenant, head)).toEqual({ ok: true, entries: 3 });
      }
      const last = [...whereTenant(tenant), { field: "revision", value: 3 }];
      await adapter.delete({ model: "featureFlagAudit", where: last });
      const update = { revision: 2, auditHash: rows[1]?.hash };
      await adapter.update({ model: "featureFlagRevision", where: whereTenant(tenant), update });
      expect(await store.verifyAudit(tenant)).toEqual({ ok: true, entries: 2 });
      expect(await store.verifyAudit(tenant, kept[2])).toEqual({
        ok: false,
        revision: 3,
        problem: "the log ends before the given head",
      });
      await store.createFlag(by(tenant), flagInput());
      expect(await store.verifyAudit(tenant)).toEqual({ ok: true, entries: 3 });
      expect(await store.verifyAudit(tenant, kept[2])).toEqual({
        ok: false,
        revision: 3,
        problem: "the entry is not the given head",
      });
      await close();
    });

    test("verifies while other writers append to it", async () => {
      const tenant = fresh("tenant");
      const { store, another } = host();
      const verifier = await another();
      await store.createFlag(by(tenant), flagInput());
      // Every read of the verifier is followed by another write.
      const appending = createFlagStore(
        afterEveryRead(verifier.adapter, async (model) => {
          if (model === "featureFlagAudit" && left-- > 0) await store.createFlag(by(tenant), flagInput());
        }),
        { pollMs: 0, warn: () => {} },
      );
      let left = 5;
      expect(await appending.verifyAudit(tenant)).toEqual({ ok: true, entries: 6 });
      await appending.close();
      await verifier.close();
    });

    test("is written although onAuditHead fails", async () => {
      const tenant = fresh("tenant");
      const { store, warnings, close } = await host().another({
        onAuditHead: () => Promise.reject(new Error("the anchor is not reachable")),
      });
      await store.createFlag(by(tenant), flagInput());
      expect(await store.verifyAudit(tenant)).toEqual({ ok: true, entries: 1 });
      expect(warnings).toEqual([expect.stringContaining("onAuditHead failed")]);
      await close();
    });
  });
}
