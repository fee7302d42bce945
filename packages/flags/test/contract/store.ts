/** What the service promises on every database: the suite that each of them runs. */
import { createHash } from "node:crypto";
import { runWithTransaction } from "@better-auth/core/context";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AuditRow, FlagRow, RevisionRow } from "../../src/model/tables.ts";
import { createTransactions } from "../../src/store/transaction.ts";
import type { FreshDatabase } from "../databases.ts";
import { type Host, type HostOptions, type Person, startHost } from "../host.ts";
import { VALUES } from "./values.ts";

let count = 0;
const newKey = () => `flag-${++count}`;

export interface StoreTraits {
  /** Whether `Beta` may stand beside `beta`: the collation of the key column decides. */
  readonly keysThatDifferInCase: "are two flags" | "are in conflict";
}

export function describeStore(
  databaseName: string,
  open: () => Promise<FreshDatabase<HostOptions["database"]>>,
  traits: StoreTraits,
): void {
  describe(`flags on ${databaseName}`, () => {
    let db: FreshDatabase<HostOptions["database"]>;
    let connection: ReturnType<typeof db.connect>;
    let host: Host;
    let admin: Person;
    let user: Person;

    beforeAll(async () => {
      db = await open();
      connection = db.connect();
      host = await startHost({ database: connection.database });
      admin = await host.person("admin", "admin");
      user = await host.person("user");
    });

    afterAll(async () => {
      await host?.close();
      await connection?.close();
      await db?.drop();
    });

    const flagRows = (key: string) =>
      host.adapter.findMany<FlagRow>({ model: "featureFlag", where: [{ field: "key", value: key }] });
    const revisionRows = () => host.adapter.findMany<RevisionRow>({ model: "featureFlagRevision" });
    const auditRows = () =>
      host.adapter.findMany<AuditRow>({
        model: "featureFlagAudit",
        sortBy: { field: "revision", direction: "asc" },
        limit: 10_000,
      });

    // First, while the database is still empty: nothing has been proven and no revision has been taken.
    test("the very first writes, all at once, all succeed", async () => {
      const answers = await Promise.all(
        Array.from({ length: 6 }, () =>
          host.createFlag({ key: newKey(), name: "N", type: "boolean" }, admin),
        ),
      );
      expect(answers.map(({ status }) => status)).toEqual(Array(6).fill(201));
      expect(await revisionRows()).toMatchObject([{ organizationId: "", revision: 6 }]);
    });

    describe("values", () => {
      test.each(VALUES.map(([type, value]) => [type, JSON.stringify(value).slice(0, 60), value] as const))(
        "the %s %s comes back as it was, over HTTP and through the method",
        async (type, _shown, value) => {
          const key = newKey();
          const created = await host.createFlag(
            { key, name: "N", type, enabled: true, defaultValue: value },
            admin,
          );
          expect(created.status).toBe(201);
          expect(JSON.stringify(created.json.defaultValue)).toBe(JSON.stringify(value));

          const answered = await host.evaluate({ flagKey: key });
          expect(answered.status).toBe(200);
          expect(JSON.stringify(answered.json.value)).toBe(JSON.stringify(value));
          expect(answered.json.reason).toBe("default");

          const method = await host.auth.api.evaluateFeatureFlag({ body: { flagKey: key } });
          expect(JSON.stringify(method.value)).toBe(JSON.stringify(value));
          expect({ ...method, evaluatedAt: "" }).toEqual({ ...answered.json, evaluatedAt: "" });
        },
      );

      test("every field of a flag is stored and returned, dates as dates or ISO text", async () => {
        const fields = {
          key: newKey(),
          name: "Näme 🚢",
          description: "",
          type: "string" as const,
          enabled: true,
          defaultValue: "x",
          metadata: { owner: "crew", tags: ["a"] },
        };
        const overHttp = await host.createFlag(fields, admin);
        expect(overHttp.json).toMatchObject({ ...fields, version: 1 });
        expect(new Date(overHttp.json.createdAt).toISOString()).toBe(overHttp.json.createdAt);
        expect(overHttp.json.updatedAt).toBe(overHttp.json.createdAt);

        const key = newKey();
        const before = Date.now();
        const throughMethod = await host.auth.api.createFeatureFlag({ body: { ...fields, key } });
        expect(throughMethod).toMatchObject({ ...fields, key, version: 1 });
        expect(throughMethod.createdAt).toBeInstanceOf(Date);
        expect(throughMethod.createdAt.getTime()).toBeGreaterThanOrEqual(before);
        expect(throughMethod.createdAt.getTime()).toBeLessThanOrEqual(Date.now());
        expect(Object.keys(overHttp.json).sort()).toEqual(Object.keys(throughMethod).sort());
      });

      test("a flag with only the required fields is disabled and has no optional ones", async () => {
        const flag = await host.auth.api.createFeatureFlag({
          body: { key: newKey(), name: "N", type: "number" },
        });
        expect(flag.enabled).toBe(false);
        expect(Object.keys(flag).sort()).toEqual(
          ["createdAt", "enabled", "id", "key", "name", "type", "updatedAt", "version"].sort(),
        );
        expect((await host.evaluate({ flagKey: flag.key, default: 7 })).json).toMatchObject({
          value: 0,
          reason: "disabled",
        });
      });

      test("a flag just under the size limit is stored whole, one over it is refused", async () => {
        const body = (length: number) => ({
          key: newKey(),
          name: "N",
          type: "string",
          defaultValue: "x".repeat(length),
        });
        const large = await host.createFlag(body(63_900), admin);
        expect(large.status).toBe(201);
        expect(large.json.defaultValue).toHaveLength(63_900);
        expect((await auditRows()).at(-1)?.after).toContain("x".repeat(63_900));

        const tooLarge = await host.createFlag(body(64_000), admin);
        expect(tooLarge.status).toBe(400);
        expect(tooLarge.json).toMatchObject({ code: "VALIDATION_ERROR", details: { limit: 64_000 } });
      });

      test("a flag is found by its exact key, upper and lower case told apart", async () => {
        const key = newKey();
        await host.auth.api.createFeatureFlag({ body: { key, name: "N", type: "boolean" } });
        expect((await host.evaluate({ flagKey: key })).json.reason).toBe("disabled");
        expect((await host.evaluate({ flagKey: key.toUpperCase() })).json.reason).toBe("not_found");
        expect((await host.evaluate({ flagKey: `${key} ` })).json.reason).toBe("not_found");
      });
    });

    test(`keys that differ only in case ${traits.keysThatDifferInCase}`, async () => {
      const key = newKey();
      await host.auth.api.createFeatureFlag({ body: { key, name: "N", type: "boolean" } });
      const second = await host.createFlag({ key: key.toUpperCase(), name: "N", type: "boolean" }, admin);
      if (traits.keysThatDifferInCase === "are two flags") {
        expect(second.status).toBe(201);
      } else {
        expect(second.status).toBe(409);
        expect(second.json.message).toContain(`"${key}"`);
      }
    });

    describe("who may create a flag", () => {
      const body = () => ({ key: newKey(), name: "N", type: "boolean" });

      test("a signed-in admin may", async () => {
        expect((await host.createFlag(body(), admin)).status).toBe(201);
      });

      test("an ordinary user may not", async () => {
        const refused = await host.createFlag(body(), user);
        expect(refused.status).toBe(403);
        expect(refused.json.code).toBe("PERMISSION_DENIED");
      });

      test("nobody may without a session, whatever the body", async () => {
        for (const sent of [body(), { nonsense: true }]) {
          const refused = await host.createFlag(sent);
          expect(refused.status).toBe(401);
          expect(refused.json.code).toBe("PERMISSION_DENIED");
        }
      });

      test("a role counts from the moment it is given and until the moment it is taken away", async () => {
        const temp = await host.person("temp");
        const setRole = (role: "admin" | "user") =>
          host.auth.api.setRole({ body: { userId: temp.id, role }, headers: new Headers(admin.headers) });
        expect((await host.createFlag(body(), temp)).status).toBe(403);
        await setRole("admin");
        expect((await host.createFlag(body(), temp)).status).toBe(201);
        await setRole("user");
        expect((await host.createFlag(body(), temp)).status).toBe(403);
      });
    });

    describe("who a flag is evaluated for", () => {
      const evaluateAs = (context: unknown, as?: Person) =>
        host.evaluate({ flagKey: "any", context, contextInResponse: true }, as);

      test("a signed-in user is evaluated as themselves", async () => {
        const own = { userId: user.id, email: user.email, role: "user" };
        expect((await evaluateAs(undefined, user)).json.context).toEqual(own);
        expect((await evaluateAs({ userId: user.id, email: user.email }, user)).json.context).toEqual(own);
      });

      test.each([{ userId: "somebody-else" }, { email: "else@example.com" }, { role: "admin" }])(
        "a signed-in user who claims %j is refused",
        async (claim) => {
          const refused = await evaluateAs(claim, user);
          expect(refused.status).toBe(403);
          expect(refused.json).toMatchObject({
            code: "PERMISSION_DENIED",
            details: { fields: Object.keys(claim) },
          });
        },
      );

      test("an admin may evaluate as somebody else, and takes nothing of their own along", async () => {
        expect((await evaluateAs({ userId: "somebody-else" }, admin)).json.context).toEqual({
          userId: "somebody-else",
        });
      });

      test("without a session the context is taken as claimed", async () => {
        expect((await evaluateAs({ userId: "claimed", role: "guest" })).json.context).toEqual({
          userId: "claimed",
          role: "guest",
        });
      });
    });

    describe("a write", () => {
      test("is seen by the next evaluation on the same node", async () => {
        const key = newKey();
        expect((await host.evaluate({ flagKey: key })).json.reason).toBe("not_found");
        await host.createFlag({ key, name: "N", type: "boolean", enabled: true, defaultValue: true }, admin);
        expect((await host.evaluate({ flagKey: key })).json).toMatchObject({
          value: true,
          reason: "default",
        });
      });

      test("is seen by another process, which has looked for the flag before", async () => {
        const other = db.connect();
        const second = await startHost({ database: other.database, migrate: false });
        try {
          const key = newKey();
          expect((await second.evaluate({ flagKey: key })).json.reason).toBe("not_found");
          await host.createFlag({ key, name: "N", type: "number", enabled: true, defaultValue: 1 }, admin);
          await expect
            .poll(async () => (await second.evaluate({ flagKey: key })).json.value, { timeout: 10_000 })
            .toBe(1);
        } finally {
          await second.close();
          await other.close();
        }
      });

      test("of one key by many at once succeeds once, and the others are told of the conflict", async () => {
        const key = newKey();
        const answers = await Promise.all(
          Array.from({ length: 8 }, () => host.createFlag({ key, name: "N", type: "boolean" }, admin)),
        );
        expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(7).fill(409)]);
        const conflict = answers.find(({ status }) => status === 409);
        expect(conflict?.json).toMatchObject({ code: "VALIDATION_ERROR", details: { field: "key" } });
        expect(await flagRows(key)).toHaveLength(1);
      });

      test("of many keys at once succeeds for each, every one with a revision of its own", async () => {
        const keys = Array.from({ length: 8 }, newKey);
        const answers = await Promise.all(
          keys.map((key) => host.createFlag({ key, name: "N", type: "boolean" }, admin)),
        );
        expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(201));
        const entries = (await auditRows()).filter(({ flagKey }) => keys.includes(flagKey));
        expect(new Set(entries.map(({ revision }) => revision)).size).toBe(8);
      });

      test("that fails in the middle leaves nothing behind", async () => {
        const key = newKey();
        const [revision] = await revisionRows();
        const entriesBefore = await auditRows();
        const last = entriesBefore.at(-1);
        if (revision === undefined || last === undefined)
          throw new Error("there are writes before this test");
        // The audit entry is written after the flag and the revision; one that is already there makes it fail.
        const { id: _id, ...fields } = last;
        const obstacle = await host.adapter.create<AuditRow>({
          model: "featureFlagAudit",
          data: { ...fields, revision: revision.revision + 1 },
        });

        const failed = await host.createFlag({ key, name: "N", type: "boolean" }, admin);
        expect(failed.status).toBe(500);
        expect(failed.json).toEqual({
          code: "STORAGE_ERROR",
          message: "The feature flags could not be read or written.",
        });
        expect(await flagRows(key)).toEqual([]);
        expect(await revisionRows()).toEqual([revision]);
        expect((await host.evaluate({ flagKey: key })).json.reason).toBe("not_found");

        await host.adapter.delete({
          model: "featureFlagAudit",
          where: [{ field: "id", value: obstacle.id }],
        });
        expect(await auditRows()).toEqual(entriesBefore);
        expect((await host.createFlag({ key, name: "N", type: "boolean" }, admin)).status).toBe(201);
      });

      test("inside a transaction of the host's own is undone with it", async () => {
        const key = newKey();
        const undo = new Error("the host changes its mind");
        const work = runWithTransaction(host.adapter, async () => {
          await host.auth.api.createFeatureFlag({ body: { key, name: "N", type: "boolean" } });
          throw undo;
        });
        await expect(work).rejects.toBe(undo);
        expect(await flagRows(key)).toEqual([]);
        expect((await host.evaluate({ flagKey: key })).json.reason).toBe("not_found");
        expect((await host.createFlag({ key, name: "N", type: "boolean" }, admin)).status).toBe(201);
      });

      test("inside a transaction of the host's own is refused while rollback is unproven; evaluation works there", async () => {
        const key = newKey();
        await host.auth.api.createFeatureFlag({
          body: { key, name: "N", type: "number", enabled: true, defaultValue: 3 },
        });
        const other = db.connect();
        const second = await startHost({ database: other.database, migrate: false });
        try {
          await runWithTransaction(second.adapter, async () => {
            const { value } = await second.auth.api.evaluateFeatureFlag({ body: { flagKey: key } });
            expect(value).toBe(3);
            await expect(
              second.auth.api.createFeatureFlag({ body: { key: newKey(), name: "N", type: "boolean" } }),
            ).rejects.toMatchObject({ statusCode: 500, body: { code: "STORAGE_ERROR" } });
          });
        } finally {
          await second.close();
          await other.close();
        }
      });
    });

    describe("the audit log", () => {
      test("has one entry per revision, each chained to the one before", async () => {
        const entries = await auditRows();
        const [revision] = await revisionRows();
        expect(entries.length).toBeGreaterThan(0);
        expect(entries.map((entry) => entry.revision)).toEqual(entries.map((_, index) => index + 1));
        let prevHash = "";
        for (const entry of entries) {
          expect(entry.prevHash).toBe(prevHash);
          // Written out here once more, so that a change to what is hashed cannot go unnoticed.
          const text = JSON.stringify([
            entry.prevHash,
            entry.entryId,
            entry.organizationId,
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
          ]);
          prevHash = createHash("sha256").update(text).digest("hex");
          expect(entry.hash).toBe(prevHash);
        }
        expect(revision).toMatchObject({ revision: entries.length, auditHash: prevHash });
      });

      test("names the user who changed a flag, or the system, and keeps the flag as it became", async () => {
        const byAdmin = (
          await host.createFlag({ key: newKey(), name: "N", type: "json", defaultValue: [1] }, admin)
        ).json;
        const bySystem = await host.auth.api.createFeatureFlag({
          body: { key: newKey(), name: "N", type: "boolean" },
        });
        const entries = await auditRows();
        const entryOf = (flagId: string) => entries.find((entry) => entry.flagId === flagId);
        expect(entryOf(byAdmin.id)).toMatchObject({
          action: "flag.created",
          actorType: "user",
          actorId: admin.id,
          flagKey: byAdmin.key,
          entityId: byAdmin.id,
          before: null,
        });
        expect(JSON.parse(entryOf(byAdmin.id)?.after ?? "")).toEqual(byAdmin);
        expect(entryOf(bySystem.id)).toMatchObject({ actorType: "system", actorId: "system" });
        expect(entryOf(bySystem.id)?.entryId).toMatch(
          /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-/,
        );
      });
    });

    describe("the rollback proof", () => {
      test("passes on this database and leaves no row behind", async () => {
        await createTransactions(host.adapter).prove();
        expect((await revisionRows()).map(({ organizationId }) => organizationId)).toEqual([""]);
      });
    });
  });
}
