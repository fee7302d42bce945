/** The plugin as its host sees it: names, types, tables. */
import * as entry from "@halyard/flags";
import {
  type AnyEvaluationResult,
  type EvaluationContext,
  type EvaluationMetadata,
  type EvaluationReason,
  FEATURE_FLAG_ERROR_CODES,
  type FeatureFlag,
  type FeatureFlagsPlugin,
  type FlagType,
  featureFlags,
  type JsonValue,
} from "@halyard/flags";
import { type BetterAuthPlugin, betterAuth } from "better-auth";
import { getMigrations } from "better-auth/db/migration";
import { describe, expect, expectTypeOf, test } from "vitest";
import type { Auth } from "./host.ts";
import { flag, memoryDatabase, memoryHost } from "./memory-host.ts";

describe("the entry point", () => {
  test("exports these names and no others", () => {
    expect(Object.keys(entry).sort()).toEqual(["FEATURE_FLAG_ERROR_CODES", "featureFlags"]);
  });

  test("names every error code, with a message", () => {
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
  test("the plugin's written type is a Better Auth plugin", () => {
    expectTypeOf<FeatureFlagsPlugin>().toExtend<BetterAuthPlugin>();
    expectTypeOf(featureFlags()).toEqualTypeOf<FeatureFlagsPlugin>();
    expect(featureFlags().id).toBe("feature-flags");
  });

  test("auth.api has the methods, with what they take and give", () => {
    type Api = Auth["api"];
    expectTypeOf<Awaited<ReturnType<Api["createFeatureFlag"]>>>().toEqualTypeOf<FeatureFlag>();
    expectTypeOf<FeatureFlag["createdAt"]>().toEqualTypeOf<Date>();
    expectTypeOf<FeatureFlag["type"]>().toEqualTypeOf<FlagType>();
    expectTypeOf<Awaited<ReturnType<Api["evaluateFeatureFlag"]>>>().toEqualTypeOf<AnyEvaluationResult>();

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

      // @ts-expect-error a flag needs a key
      await api.createFeatureFlag({ body: { name: "N", type: "boolean" } });
      // @ts-expect-error there is no such type
      await api.createFeatureFlag({ body: { key: "k", name: "N", type: "date" } });
      // @ts-expect-error no such field yet
      await api.createFeatureFlag({ body: { key: "k", name: "N", type: "boolean", rolloutPercentage: 5 } });
      // @ts-expect-error a date is not JSON
      await api.evaluateFeatureFlag({ body: { flagKey: "k", default: new Date() } });
    };
    expectTypeOf(shapes).returns.toEqualTypeOf<Promise<void>>();
  });

  test("the host's own types survive the plugin", () => {
    type Session = NonNullable<Awaited<ReturnType<Auth["api"]["getSession"]>>>;
    expectTypeOf<Session["user"]["email"]>().toEqualTypeOf<string>();
    expectTypeOf<Session["user"]["role"]>().toEqualTypeOf<string | null | undefined>();
    expectTypeOf<Auth["$ERROR_CODES"]["STORAGE_ERROR"]["code"]>().toEqualTypeOf<"STORAGE_ERROR">();
  });
});

describe("ids", () => {
  test.each(["serial", "uuid"] as const)("are text, in the host's own form: %s", async (generateId) => {
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
    expect(id).toMatch(generateId === "serial" ? /^1$/ : /^[0-9a-f-]{36}$/);
    expect({ ...db.prepare("select flagId, revision from featureFlagAudit").get() }).toEqual({
      flagId: id,
      revision: 1,
    });
  });
});

describe("table and column names", () => {
  test("can be the host's own", async () => {
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
      org_id: "",
      default_value: '"v"',
    });
    expect(db.prepare("select flag_key from feature_flag_audit").all()).toHaveLength(1);

    // The names are this plugin's alone: another one made without them has the usual ones.
    expect(featureFlags().schema.featureFlag.modelName).toBeUndefined();
  });

  test("a second migration finds nothing to do", async () => {
    const { auth } = await memoryHost();
    const { toBeCreated, toBeAdded, toBeAddedIndexes } = await getMigrations(auth.options);
    expect([toBeCreated, toBeAdded, toBeAddedIndexes]).toEqual([[], [], []]);
  });
});
