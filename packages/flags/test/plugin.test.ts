/** Checks the plugin's exported names, types, tables and lifecycle. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import * as entry from "@halyard/flags";
import {
  type AuditEntry,
  closeFeatureFlags,
  type EvaluationContext,
  type EvaluationFields,
  type EvaluationMetadata,
  type EvaluationReason,
  FEATURE_FLAG_ERROR_CODES,
  type FeatureFlag,
  type FeatureFlagEventBatchResult,
  type FeatureFlagEventResult,
  type FeatureFlagsPlugin,
  type FlagExplanation,
  type FlagOverride,
  type FlagRule,
  type FlagStats,
  type FlagType,
  type FlagUsage,
  featureFlagStatements,
  featureFlags,
  type JsonValue,
  type ListedFeatureFlag,
  type Page,
  type WithWarnings,
} from "@halyard/flags";
import { type BetterAuthPlugin, betterAuth } from "better-auth";
import { getMigrations } from "better-auth/db/migration";
import { openAPI } from "better-auth/plugins";
import { createAccessControl } from "better-auth/plugins/access";
import { defaultStatements } from "better-auth/plugins/admin/access";
import { describe, expect, expectTypeOf, test } from "vitest";
import type { Auth } from "./host.ts";
import { flag, memoryDatabase, memoryHost } from "./memory-host.ts";

describe("the entry point", () => {
  test("exports these names and no others", () => {
    expect(Object.keys(entry).sort()).toEqual([
      "FEATURE_FLAG_ERROR_CODES",
      "closeFeatureFlags",
      "createServerFlags",
      "defineFlags",
      "defineTrusted",
      "deliverFeatureFlagEvents",
      "featureFlagStatements",
      "featureFlags",
      "featureFlagsPostgresMigration",
      "flagConditions",
      "makeFeatureFlagAdmin",
      "postgresBus",
      "serializeBootstrap",
      "verifyFeatureFlagAudit",
      "verifyWebhook",
      "webhookSink",
      "withFeatureFlags",
    ]);
  });

  test("exports every error code with a message", () => {
    expect(Object.keys(FEATURE_FLAG_ERROR_CODES).sort()).toEqual([
      "EVALUATION_ERROR",
      "FLAG_NOT_FOUND",
      "INVALID_FLAG_TYPE",
      "PERMISSION_DENIED",
      "RATE_LIMIT_EXCEEDED",
      "STORAGE_ERROR",
      "VALIDATION_ERROR",
    ]);
    for (const [code, error] of Object.entries(FEATURE_FLAG_ERROR_CODES)) {
      expect(error).toMatchObject({ code, message: expect.any(String) });
    }
  });
});

describe("types", () => {
  test("the list of operations exports no name a second time, so that auth.api keeps its doc comments", () => {
    const list = readFileSync(new URL("../src/server/operations/list.ts", import.meta.url), "utf8");
    const statements = list.split("\n").filter((line) => /^(?:export|import)/.test(line));
    expect(statements.length).toBeGreaterThan(10);
    for (const statement of statements) expect(statement).toMatch(/^export \* from "/);
  });

  test("the declared type of the plugin is a Better Auth plugin", () => {
    expectTypeOf<FeatureFlagsPlugin>().toExtend<BetterAuthPlugin>();
    expectTypeOf(featureFlags()).toEqualTypeOf<FeatureFlagsPlugin>();
    expect(featureFlags().id).toBe("feature-flags");
  });

  test("auth.api has typed inputs and results for every method", () => {
    type Api = Auth["api"];
    expectTypeOf<Awaited<ReturnType<Api["createFeatureFlag"]>>>().toEqualTypeOf<WithWarnings<FeatureFlag>>();
    expectTypeOf<FeatureFlag["createdAt"]>().toEqualTypeOf<Date>();
    expectTypeOf<FeatureFlag["type"]>().toEqualTypeOf<FlagType>();

    const shapes = async (api: Api) => {
      const full = await api.evaluateFeatureFlag({ body: { flagKey: "k" } });
      expectTypeOf(full.value).toEqualTypeOf<JsonValue>();
      expectTypeOf(full.reason).toEqualTypeOf<EvaluationReason>();
      expectTypeOf(full.metadata).toEqualTypeOf<EvaluationMetadata>();
      expectTypeOf(full.evaluatedAt).toEqualTypeOf<string>();
      expectTypeOf(full.context).toEqualTypeOf<EvaluationContext | undefined>();

      const value = await api.evaluateFeatureFlag({ body: { flagKey: "k", select: "value" } });
      expectTypeOf(value.value).toEqualTypeOf<JsonValue>();
      expectTypeOf(value).not.toHaveProperty("reason");

      const some = await api.evaluateFeatureFlag({
        body: { flagKey: "k", select: ["reason"] },
        headers: new Headers(),
      });
      expectTypeOf(some.reason).toEqualTypeOf<EvaluationReason>();
      expectTypeOf(some).not.toHaveProperty("value");

      const response = await api.evaluateFeatureFlag({ body: { flagKey: "k" }, asResponse: true });
      expectTypeOf(response).toEqualTypeOf<Response>();

      const batch = await api.evaluateFeatureFlags({ body: { flagKeys: ["k"] } });
      expectTypeOf(batch.flags["k"]).toEqualTypeOf<EvaluationFields | undefined>();
      expectTypeOf(batch.context).toEqualTypeOf<EvaluationContext | undefined>();
      const values = await api.evaluateFeatureFlags({ body: { flagKeys: ["k"], select: "value" } });
      expectTypeOf(values.flags["k"]).toEqualTypeOf<JsonValue | undefined>();
      const reasons = await api.bootstrapFeatureFlags({ body: { select: ["reason"] } });
      expectTypeOf(reasons.flags["k"]).toEqualTypeOf<{ readonly reason: EvaluationReason } | undefined>();
      expectTypeOf(reasons.context).toEqualTypeOf<EvaluationContext>();

      expectTypeOf(await api.listFeatureFlags()).toEqualTypeOf<{
        flags: ListedFeatureFlag[];
        page: Page;
      }>();
      const event = { flagKey: "k", event: "e", properties: { a: 1 }, timestamp: "2030-01-01T00:00:00Z" };
      expectTypeOf(
        await api.createFeatureFlagEvent({ body: { ...event, idempotencyKey: "k" } }),
      ).toEqualTypeOf<FeatureFlagEventResult>();
      const batchBody = { events: [{ ...event, idempotencyKey: "k" }], sampleRate: 1 };
      expectTypeOf(
        await api.createFeatureFlagEventBatch({ body: batchBody }),
      ).toEqualTypeOf<FeatureFlagEventBatchResult>();
      expectTypeOf(
        await api.getFeatureFlagStats({ params: { id: "f" }, query: { start: "2030-01-01" } }),
      ).toEqualTypeOf<FlagStats>();
      expectTypeOf(await api.getFeatureFlagUsage()).toEqualTypeOf<FlagUsage>();
      expectTypeOf(await api.updateFeatureFlag({ body: { id: "f", salt: null } })).toEqualTypeOf<
        WithWarnings<FeatureFlag>
      >();
      expectTypeOf(await api.deleteFeatureFlag({ body: { id: "f" } })).toEqualTypeOf<void>();
      const ruleBody = { flagId: "f", priority: 1, conditions: { conditions: [] }, variant: "a" };
      expectTypeOf(await api.createFeatureFlagRule({ body: ruleBody })).toEqualTypeOf<
        WithWarnings<FlagRule>
      >();
      expectTypeOf(await api.listFeatureFlagRules({ params: { flagId: "f" } })).toEqualTypeOf<{
        rules: FlagRule[];
      }>();
      const overrideBody = { flagId: "f", userId: "u", value: [1, { a: null }] };
      expectTypeOf(await api.createFeatureFlagOverride({ body: overrideBody })).toEqualTypeOf<
        WithWarnings<FlagOverride>
      >();
      const audit = await api.listFeatureFlagAuditEntries({ query: { action: "create", offset: 1 } });
      expectTypeOf(audit).toEqualTypeOf<{ entries: AuditEntry[] }>();
      expectTypeOf(await api.explainFeatureFlag({ params: { id: "f" } })).toEqualTypeOf<FlagExplanation>();
      const { headers, response: changed } = await api.updateFeatureFlag({
        body: { id: "f", enabled: true },
        returnHeaders: true,
      });
      expectTypeOf(headers).toEqualTypeOf<Headers>();
      expectTypeOf(changed).toEqualTypeOf<WithWarnings<FeatureFlag>>();

      // @ts-expect-error an event needs a name
      await api.createFeatureFlagEvent({ body: { flagKey: "k" } });
      // @ts-expect-error the flag is in params
      await api.getFeatureFlagStats({});
      // @ts-expect-error a flag needs a key
      await api.createFeatureFlag({ body: { name: "N", type: "boolean" } });
      // @ts-expect-error the type does not exist
      await api.createFeatureFlag({ body: { key: "k", name: "N", type: "date" } });
      // @ts-expect-error the field does not exist
      await api.createFeatureFlag({ body: { key: "k", name: "N", type: "boolean", colour: "red" } });
      // @ts-expect-error a rule needs a priority
      await api.createFeatureFlagRule({ body: { flagId: "f", conditions: { conditions: [] }, value: 1 } });
      await api.createFeatureFlag({
        body: { key: "k", name: "N", type: "boolean" },
        // @ts-expect-error the organization of a new flag is in its body
        query: { organizationId: "o" },
      });
      await api.createFeatureFlagOverride({ body: overrideBody, query: { organizationId: "o" } });
      // @ts-expect-error the sort field does not exist
      await api.listFeatureFlags({ query: { sort: "secret" } });
      // @ts-expect-error the flag is in params
      await api.listFeatureFlagRules({ query: {} });
      // @ts-expect-error a date is not JSON
      await api.evaluateFeatureFlag({ body: { flagKey: "k", default: new Date() } });
    };
    expectTypeOf(shapes).returns.toEqualTypeOf<Promise<void>>();
  });

  test("the types of other plugins are unchanged", () => {
    type Session = NonNullable<Awaited<ReturnType<Auth["api"]["getSession"]>>>;
    expectTypeOf<Session["user"]["email"]>().toEqualTypeOf<string>();
    expectTypeOf<Session["user"]["role"]>().toEqualTypeOf<string | null | undefined>();
    expectTypeOf<Auth["$ERROR_CODES"]["STORAGE_ERROR"]["code"]>().toEqualTypeOf<"STORAGE_ERROR">();
  });
});

describe("ids", () => {
  test.each(["serial", "uuid"] as const)(
    "are UUIDs even if the host generates other ids: %s",
    async (generateId) => {
      const db = memoryDatabase();
      const auth = betterAuth({
        baseURL: "http://localhost:3000",
        database: db,
        secret: "a secret that is only good enough for tests, which is all it does",
        advanced: { database: { generateId } },
        logger: { disabled: true },
        plugins: [featureFlags()],
      });
      await (await getMigrations(auth.options)).runMigrations();
      const { id } = await auth.api.createFeatureFlag({ body: flag() });
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f-]{17}$/);
      expect({ ...db.prepare("select flagId, revision from featureFlagAudit").get() }).toEqual({
        flagId: id,
        revision: 1,
      });
    },
  );
});

describe("table and column names", () => {
  test("can be chosen by the host", async () => {
    const db = memoryDatabase();
    const auth = betterAuth({
      baseURL: "http://localhost:3000",
      database: db,
      secret: "a secret that is only good enough for tests, which is all it does",
      logger: { disabled: true },
      plugins: [
        featureFlags({
          schema: {
            featureFlag: {
              modelName: "feature_flag",
              fields: { organizationId: "org_id", defaultValue: "default_value" },
            },
            featureFlagRevision: { modelName: "feature_flag_revision", fields: { auditHash: "audit_hash" } },
            featureFlagAudit: { modelName: "feature_flag_audit", fields: { flagKey: "flag_key" } },
          },
        }),
      ],
    });
    await (await getMigrations(auth.options)).runMigrations();
    await auth.api.createFeatureFlag({ body: flag({ enabled: true, defaultValue: "v" }) });
    expect((await auth.api.evaluateFeatureFlag({ body: { flagKey: "k" } })).value).toBe("v");
    await expect(auth.api.createFeatureFlag({ body: flag() })).rejects.toMatchObject({ statusCode: 409 });
    expect({ ...db.prepare("select key, org_id, default_value from feature_flag").get() }).toEqual({
      key: "k",
      org_id: null,
      default_value: '"v"',
    });
    expect(db.prepare("select flag_key from feature_flag_audit").all()).toHaveLength(1);

    // The names apply to this instance only. Another instance has the default names.
    expect(featureFlags().schema.featureFlag.modelName).toBeUndefined();
  });

  test("need no changes in a second migration", async () => {
    const { auth } = await memoryHost();
    const { toBeCreated, toBeAdded, toBeAddedIndexes } = await getMigrations(auth.options);
    expect([toBeCreated, toBeAdded, toBeAddedIndexes]).toEqual([[], [], []]);
  });
});

describe("permission statements", () => {
  test("can be used in the host's access control", () => {
    const ac = createAccessControl({ ...defaultStatements, ...featureFlagStatements });
    const role = ac.newRole({ featureFlag: ["read", "evaluate-as"] });
    expect(role.authorize({ featureFlag: ["evaluate-as"] }).success).toBe(true);
    expect(role.authorize({ featureFlag: ["delete"] }).success).toBe(false);
  });
});

describe("health", () => {
  test("returns the version of the package", async () => {
    const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
    const { auth } = await memoryHost();
    expect((await auth.api.getFeatureFlagsHealth()).version).toBe(version);
  });
});

describe("the OpenAPI document", () => {
  test("describes the input and the response of every route", async () => {
    const auth = betterAuth({
      baseURL: "http://localhost:3000",
      database: memoryDatabase(),
      secret: "a secret that is only good enough for tests, which is all it does",
      logger: { disabled: true },
      plugins: [featureFlags(), openAPI()],
    });
    await (await getMigrations(auth.options)).runMigrations();
    const { paths } = await auth.api.generateOpenAPISchema();
    const documented = new Map(Object.entries(paths as Record<string, Record<string, Operation>>));
    for (const [name, { path, options }] of Object.entries(featureFlags().endpoints)) {
      const operation = documented.get(path.replaceAll(/:(\w+)/g, "{$1}"))?.[
        String(options.method).toLowerCase()
      ];
      expect(operation?.operationId, name).toBe(name);
      const success = Object.keys(operation?.responses ?? {}).filter((status) => status.startsWith("2"));
      const expected =
        options.method === "DELETE"
          ? "204"
          : /^create(?!FeatureFlag(?:Event|Exposures))/.test(name)
            ? "201"
            : "200";
      expect(success, name).toEqual([expected]);
      if (options.method !== "GET" && options.method !== "DELETE") {
        const { schema } = operation?.requestBody?.content?.["application/json"] ?? {};
        // OFREP has one field, the context, and a report of exposures has its tokens.
        // A plan is applied, and an entry reverted, by its id in the path. The console's own bodies are in its README.
        const isEmpty = /^(?:apply|revert)|Console/.test(name);
        const least = isEmpty ? 0 : /Ofrep|Exposures/.test(name) ? 1 : 2;
        expect(Object.keys(schema?.properties ?? {}).length, name).toBeGreaterThanOrEqual(least);
      }
    }
    expect(documented.size).toBeGreaterThan(15);
    const { post } = documented.get("/feature-flags/admin/flags") ?? {};
    const fields = ["offValue", "tenantOverridable"];
    const sent = post?.requestBody?.content?.["application/json"]?.schema?.properties;
    expect(Object.keys(sent ?? {})).toEqual(expect.arrayContaining(fields));
    const returned = post?.responses?.["201"]?.content?.["application/json"]?.schema?.properties;
    expect(Object.keys(returned ?? {})).toEqual(expect.arrayContaining([...fields, "warnings"]));
  });
});

interface Operation {
  readonly operationId?: string;
  readonly responses?: Record<string, Body>;
  readonly requestBody?: Body;
}

interface Body {
  readonly content?: Record<string, { schema?: { properties?: object } }>;
}

describe("closeFeatureFlags", () => {
  test("stops polling, and evaluations still use the snapshot", async () => {
    const { auth, evaluate, db } = await memoryHost();
    await auth.api.createFeatureFlag({ body: flag({ enabled: true, defaultValue: "v" }) });
    await evaluate({ flagKey: "k" });
    await closeFeatureFlags(auth);
    await closeFeatureFlags(auth);
    expect((await evaluate({ flagKey: "k" })).json.value).toBe("v");
    expect(db.isOpen).toBe(true);
  });

  test("does nothing before the first request, and without the plugin", async () => {
    const options = {
      baseURL: "http://localhost:3000",
      secret: "a secret that is only good enough for tests",
    };
    await closeFeatureFlags(
      betterAuth({ ...options, plugins: [featureFlags()], logger: { disabled: true } }),
    );
    await closeFeatureFlags(betterAuth({ ...options, plugins: [openAPI()], logger: { disabled: true } }));
  });

  test("is not required for a process to exit", async () => {
    const script = `
      import { DatabaseSync } from "node:sqlite";
      import { betterAuth } from "better-auth";
      import { getMigrations } from "better-auth/db/migration";
      import { featureFlags } from "@halyard/flags";
      const auth = betterAuth({
        baseURL: "http://localhost:3000", database: new DatabaseSync(":memory:"), logger: { disabled: true },
        secret: "a secret that is only good enough for tests, which is all it does", plugins: [featureFlags()],
      });
      await (await getMigrations(auth.options)).runMigrations();
      await auth.api.createFeatureFlag({ body: { key: "k", name: "N", type: "boolean" } });
      console.log((await auth.api.evaluateFeatureFlag({ body: { flagKey: "k" } })).reason);
    `;
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ["--no-warnings", "--conditions=@halyard/source", "--input-type=module", "--eval", script],
      { cwd: fileURLToPath(new URL("..", import.meta.url)), timeout: 50_000 },
    );
    expect(stdout.trim()).toBe("disabled");
  }, 60_000);
});
