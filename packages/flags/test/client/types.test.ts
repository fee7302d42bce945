/** Checks the types of declared flags: a wrong key, value or variant does not compile. */

import {
  type CreateFeatureFlagInput,
  closeFeatureFlags,
  createServerFlags,
  type EvaluationReason,
  type FeatureFlagsEndpoints,
  featureFlags,
  withFeatureFlags,
} from "@halyard/flags";
import { featureFlagsAdminClient } from "@halyard/flags/admin-client";
import {
  defineFlags,
  type FeatureFlagsActions,
  featureFlagsClient,
  type JsonValue,
} from "@halyard/flags/client";
import { createServerProvider } from "@halyard/flags/openfeature";
import { createFlagHooks, useFeatureFlag } from "@halyard/flags/react";
import { testFlags } from "@halyard/flags/testing";
import { betterAuth } from "better-auth";
import type { BetterAuthClientPlugin } from "better-auth/client";
import { createAuthClient } from "better-auth/client";
import { organizationClient } from "better-auth/client/plugins";
import { createAuthClient as createReactAuthClient } from "better-auth/react";
import { describe, expectTypeOf, test } from "vitest";
import * as z from "zod";

type Theme = { colour: string; dark?: boolean };

const flags = defineFlags({
  "new-checkout": { type: "boolean", default: false },
  beta: { type: "boolean" },
  search: { type: "string", values: ["keyword", "semantic"], variants: ["control", "semantic"] },
  greeting: { type: "string", default: "Hello" },
  limit: { type: "number" },
  theme: { type: "json", default: { colour: "blue" } as Theme },
  layout: { type: "json", default: { columns: 2, names: ["a"] } },
  anything: { type: "json" },
});

const options = { baseURL: "http://localhost:3000" };
const typed = createAuthClient({
  ...options,
  plugins: [featureFlagsClient({ flags }), featureFlagsAdminClient({ flags })],
});
const untyped = createAuthClient({ ...options, plugins: [organizationClient(), featureFlagsClient()] });
const react = createReactAuthClient({
  ...options,
  plugins: [featureFlagsClient({ flags }), organizationClient()],
});

type Helpers = typeof typed.featureFlags;
type Value<Key extends keyof typeof flags> = Awaited<ReturnType<typeof read<Key>>>;
const read = <Key extends keyof typeof flags>(key: Key) => typed.featureFlags.getValue(key);

const declaredAuth = () => betterAuth({ plugins: [featureFlags({ flags })] });
const undeclaredAuth = () => betterAuth({ plugins: [featureFlags()] });

/** Compiled but never run. */
function neverRun(_: () => unknown): void {}

describe("declared flags", () => {
  test("give their values the declared types", () => {
    expectTypeOf<Value<"new-checkout">>().toEqualTypeOf<boolean>();
    expectTypeOf<Value<"beta">>().toEqualTypeOf<boolean | undefined>();
    expectTypeOf<Value<"search">>().toEqualTypeOf<"keyword" | "semantic" | undefined>();
    expectTypeOf<Value<"greeting">>().toEqualTypeOf<string>();
    expectTypeOf<Value<"limit">>().toEqualTypeOf<number | undefined>();
    expectTypeOf<Value<"theme">>().toEqualTypeOf<Readonly<Theme>>();
    expectTypeOf<Value<"layout">>().toEqualTypeOf<{
      readonly columns: number;
      readonly names: readonly string[];
    }>();
    expectTypeOf<Value<"anything">>().toEqualTypeOf<JsonValue | undefined>();
    neverRun(() => {
      expectTypeOf(typed.featureFlags.getValue("limit", 3)).resolves.toEqualTypeOf<number>();
      expectTypeOf(typed.featureFlags.getVariant("search")).resolves.toEqualTypeOf<
        "control" | "semantic" | null
      >();
      expectTypeOf(typed.featureFlags.getVariant("limit")).resolves.toEqualTypeOf<string | null>();
      expectTypeOf(typed.featureFlags.bootstrap())
        .resolves.toHaveProperty("limit")
        .toEqualTypeOf<number | undefined>();
    });
  });

  test("refuse a wrong key, value or default", () => {
    neverRun(async () => {
      // @ts-expect-error the flag does not exist
      await typed.featureFlags.isEnabled("new-chekout");
      // @ts-expect-error the flag is not boolean
      await typed.featureFlags.isEnabled("limit");
      // @ts-expect-error a default of another type
      await typed.featureFlags.getValue("limit", "3");
      // @ts-expect-error not one of its values
      await typed.featureFlags.getValue("search", "fuzzy");
      // @ts-expect-error not one of its variants
      if ((await typed.featureFlags.getVariant("search")) === "treatment") return;
      // @ts-expect-error a value of another type
      typed.featureFlags.setOverride("limit", true);
      // @ts-expect-error the flag does not exist
      await typed.featureFlags.track("nope", "clicked");
      // @ts-expect-error the flag does not exist
      await typed.featureFlags.trackBatch([{ flag: "nope", event: "clicked" }]);
      // @ts-expect-error a default that is not of the declared type
      defineFlags({ broken: { type: "number", default: "1" } });
      // @ts-expect-error the type does not exist
      defineFlags({ broken: { type: "integer" } });
      // @ts-expect-error a default that is not one of the values
      defineFlags({ broken: { type: "string", default: "c", values: ["a", "b"] } });
      // @ts-expect-error a default that is not one of the values
      defineFlags({ fine: { type: "boolean" }, broken: { type: "number", default: 3, values: [1, 2] } });
      // @ts-expect-error a value of another type
      testFlags({ limit: "3" }, { flags });
      // @ts-expect-error not one of its variants
      testFlags({ search: "keyword" }, { flags, variants: { search: "treatment" } });
    });
  });

  test("give the same types to hooks", () => {
    const hooks = createFlagHooks(flags);
    neverRun(() => {
      expectTypeOf(hooks.useFeatureFlag("new-checkout")).toEqualTypeOf<boolean>();
      expectTypeOf(hooks.useFeatureFlag("limit")).toEqualTypeOf<number | undefined>();
      expectTypeOf(hooks.useFeatureFlag("limit", 3)).toEqualTypeOf<number>();
      expectTypeOf(hooks.useVariant("search")?.key).toEqualTypeOf<"control" | "semantic" | undefined>();
      expectTypeOf(hooks.useFeatureFlags().search).toEqualTypeOf<"keyword" | "semantic" | undefined>();
      expectTypeOf(hooks.useFeatureFlagDetails("limit", 3).value).toEqualTypeOf<number>();
      expectTypeOf(useFeatureFlag("anything at all", false)).toEqualTypeOf<JsonValue>();
      // @ts-expect-error the flag does not exist
      hooks.useFeatureFlag("new-chekout");
      // @ts-expect-error a default of another type
      hooks.useFeatureFlag("limit", "3");
      // @ts-expect-error the flag does not exist
      hooks.useVariant("nope");
      // @ts-expect-error not one of its variants
      return hooks.useVariant("search")?.key === "treatment";
    });
  });

  test("give the same types on the server", () => {
    const api = {} as FeatureFlagsEndpoints;
    const headers = new Headers();
    neverRun(async () => {
      const server = createServerFlags({ api }, flags);
      expectTypeOf(await server.isEnabled("beta", { headers })).toEqualTypeOf<boolean>();
      expectTypeOf(await server.getValue("search", { context: {} }, "keyword")).toEqualTypeOf<
        "keyword" | "semantic"
      >();
      expectTypeOf(await server.getVariant("search", { server: true })).toEqualTypeOf<
        "control" | "semantic" | null
      >();
      // @ts-expect-error the flag does not exist
      await server.isEnabled("new-chekout", { headers });
      // @ts-expect-error a default of another type
      await server.getValue("limit", { headers }, "3");
      // @ts-expect-error the call does not say for whom
      await server.isEnabled("beta", {});
      // @ts-expect-error the call does not say for whom
      await server.isEnabled("beta");
      // @ts-expect-error the call does not say for whom
      await server.getValue("limit", { track: true });
      // @ts-expect-error the headers may be missing
      await server.getVariant("search", { headers: undefined });
      // @ts-expect-error the call does not say for whom
      await server.bootstrap({ server: false });
    });
  });

  test("type evaluateFeatureFlag of an auth instance, and a default removes null from its value", () => {
    const auth = {} as ReturnType<typeof declaredAuth>;
    neverRun(async () => {
      const { api } = auth;
      const one = await api.evaluateFeatureFlag({ body: { flagKey: "search", default: "keyword" } });
      expectTypeOf(one.value).toEqualTypeOf<"keyword" | "semantic">();
      expectTypeOf(one.reason).toEqualTypeOf<EvaluationReason>();
      const bare = await api.evaluateFeatureFlag({ body: { flagKey: "limit" } });
      expectTypeOf(bare.value).toEqualTypeOf<number | null>();
      const value = await api.evaluateFeatureFlag({
        body: { flagKey: "new-checkout", default: false, select: "value" },
        headers: new Headers(),
      });
      expectTypeOf(value.value).toEqualTypeOf<boolean>();
      expectTypeOf(value).not.toHaveProperty("reason");
      const response = await api.evaluateFeatureFlag({ body: { flagKey: "beta" }, asResponse: true });
      expectTypeOf(response).toEqualTypeOf<Response>();
      // @ts-expect-error the flag does not exist
      await api.evaluateFeatureFlag({ body: { flagKey: "new-chekout" } });
      // @ts-expect-error a default of another type
      await api.evaluateFeatureFlag({ body: { flagKey: "limit", default: "3" } });
      // @ts-expect-error not one of its values
      await api.evaluateFeatureFlag({ body: { flagKey: "search", default: "fuzzy" } });
      createServerFlags(auth, flags);
      createServerProvider(auth);
      withFeatureFlags(auth);
      await closeFeatureFlags(auth);
    });
  });

  test("take the type of a JSON value from its schema", () => {
    const declared = defineFlags({
      plan: { type: "json", schema: z.object({ price: z.number(), tags: z.array(z.string()) }) },
    });
    neverRun(async () => {
      const helpers = createServerFlags({ api: {} as FeatureFlagsEndpoints }, declared);
      expectTypeOf(await helpers.getValue("plan", { server: true })).toEqualTypeOf<
        { price: number; tags: string[] } | undefined
      >();
    });
  });

  test("limit the key, type, values and variants of a new flag", () => {
    const { api } = {} as ReturnType<typeof declaredAuth>;
    const { flags: admin } = typed.featureFlags.admin;
    neverRun(async () => {
      const search = { key: "search", name: "Search", type: "string" } as const;
      const variants = [{ key: "control", weight: 100, value: "keyword" }] as const;
      const environments = { beta: { enabled: true, defaultValue: "semantic" } } as const;
      await api.createFeatureFlag({ body: { ...search, defaultValue: "keyword", variants, environments } });
      await admin.create({ ...search, offValue: "keyword", variants, environments });
      const layout = { key: "layout", name: "Layout", type: "json" } as const;
      await api.createFeatureFlag({ body: { ...layout, defaultValue: { columns: 1, names: [] } } });
      // @ts-expect-error the flag is not declared
      await api.createFeatureFlag({ body: { ...search, key: "serach" } });
      // @ts-expect-error a new flag is not named by key:
      await api.createFeatureFlag({ body: { ...search, key: "key:search" } });
      // @ts-expect-error another type than declared
      await api.createFeatureFlag({ body: { key: "search", name: "Search", type: "boolean" } });
      // @ts-expect-error not one of its values
      await api.createFeatureFlag({ body: { ...search, defaultValue: "fuzzy" } });
      // @ts-expect-error not one of its values
      await api.createFeatureFlag({ body: { ...search, variants: [{ ...variants[0], value: "fuzzy" }] } });
      // @ts-expect-error not one of its variants
      await api.createFeatureFlag({ body: { ...search, variants: [{ ...variants[0], key: "treatment" }] } });
      // @ts-expect-error not one of its values
      await api.createFeatureFlag({ body: { ...search, environments: { beta: { offValue: "fuzzy" } } } });
      // @ts-expect-error a new flag has nothing that null clears
      await api.createFeatureFlag({ body: { ...search, defaultValue: null } });
      // @ts-expect-error a field of another type
      await api.createFeatureFlag({ body: { ...layout, defaultValue: { columns: "1", names: [] } } });
      // @ts-expect-error the flag is not declared
      await admin.create({ ...search, key: "serach" });
      // @ts-expect-error not one of its values
      await admin.create({ ...search, defaultValue: "fuzzy" });
    });
  });

  test("limit the values of changes, rules and overrides, by id, key: and key", () => {
    const { api } = {} as ReturnType<typeof declaredAuth>;
    const { admin } = typed.featureFlags;
    const rule = { priority: 1, conditions: { conditions: [] } };
    neverRun(async () => {
      await api.updateFeatureFlag({ body: { id: "key:search", defaultValue: "keyword", offValue: null } });
      await api.updateFeatureFlag({ params: { id: "search" }, body: { defaultValue: "keyword" } });
      await api.createFeatureFlagRule({ body: { ...rule, flagId: "search", value: "keyword" } });
      await api.updateFeatureFlagRule({ body: { flagId: "search", ruleId: "r", variant: null } });
      await api.createFeatureFlagOverride({ body: { flagId: "key:limit", userId: "u", value: 3 } });
      await admin.flags.update("search", { defaultValue: "semantic" }, { version: 2 });
      const environments = { beta: { enabled: null, defaultValue: "keyword" }, legacy: null } as const;
      await api.updateFeatureFlag({ body: { id: "search", environments } });
      await admin.flags.update("search", { environments });
      await admin.flags.update("search", { environments: null });
      // @ts-expect-error not one of its values
      await admin.flags.update("search", { environments: { beta: { defaultValue: "fuzzy" } } });
      // @ts-expect-error a field that environments do not have
      await admin.flags.update("search", { environments: { beta: { variants: null } } });
      const inBeta = { ...rule, flagId: "search", value: "keyword", environments: ["beta"] } as const;
      await api.createFeatureFlagRule({ body: inBeta });
      await admin.rules.create(inBeta);
      await api.updateFeatureFlagRule({ body: { flagId: "search", ruleId: "r", environments: null } });
      // @ts-expect-error the environments of a rule are names
      await api.createFeatureFlagRule({ body: { ...inBeta, environments: { beta: {} } } });
      await admin.rules.update("key:search", "r", { value: "keyword" });
      // @ts-expect-error a number is not a string
      await api.updateFeatureFlag({ body: { id: "key:search", defaultValue: 5 } });
      // @ts-expect-error not one of its values
      await api.updateFeatureFlag({ params: { id: "search" }, body: { defaultValue: "fuzzy" } });
      // @ts-expect-error another type than declared
      await api.updateFeatureFlag({ body: { id: "search", type: "json" } });
      // @ts-expect-error not one of its values
      await api.createFeatureFlagRule({ body: { ...rule, flagId: "search", value: "fuzzy" } });
      // @ts-expect-error not one of its variants
      await api.updateFeatureFlagRule({ body: { flagId: "search", ruleId: "r", variant: "treatment" } });
      // @ts-expect-error null clears nothing here
      await api.createFeatureFlagOverride({ body: { flagId: "limit", userId: "u", value: null } });
      // @ts-expect-error not one of its values
      await admin.flags.update("search", { defaultValue: "fuzzy" });
      // @ts-expect-error not one of its values
      await admin.rules.create({ ...rule, flagId: "search", value: "fuzzy" });
      // @ts-expect-error a string is not a number
      await admin.overrides.create({ flagId: "limit", userId: "u", value: "3" });
    });
  });

  test("refuse a misspelt name in operations on a flag", () => {
    const { api } = {} as ReturnType<typeof declaredAuth>;
    const { admin } = typed.featureFlags;
    neverRun(async () => {
      await api.getFeatureFlag({ params: { id: "search" } });
      await api.explainFeatureFlag({ params: { id: "key:search" } });
      // @ts-expect-error the flag is not declared
      await api.getFeatureFlag({ params: { id: "serach" } });
      // @ts-expect-error the flag is not declared
      await api.deleteFeatureFlag({ body: { id: "key:serach" } });
      // @ts-expect-error the flag is not declared
      await api.updateFeatureFlag({ body: { id: "serach", enabled: true } });
      // @ts-expect-error the flag is not declared
      await api.listFeatureFlagRules({ params: { flagId: "serach" } });
      // @ts-expect-error the flag is not declared
      await admin.flags.get("serach");
    });
  });

  test("accept any key and value where a name is an id or is computed", () => {
    const { api } = {} as ReturnType<typeof declaredAuth>;
    const { flags: admin } = typed.featureFlags.admin;
    neverRun(async (key: string = "k") => {
      await api.createFeatureFlag({ body: { key, name: "N", type: "number", defaultValue: 1 } });
      await api.createFeatureFlag({ body: {} as CreateFeatureFlagInput });
      await api.updateFeatureFlag({ body: { id: key, defaultValue: 1 } });
      await api.updateFeatureFlag({ body: { id: `key:${key}`, defaultValue: 1 } });
      await api.updateFeatureFlag({
        body: { id: "0199b2f4-7c00-7000-8000-000000000000", defaultValue: 1 },
      });
      await admin.create({ key, name: "N", type: "json", defaultValue: [1] });
      await admin.update(key, { defaultValue: 1 });
      // @ts-expect-error a string is not a number
      await admin.create({ key, name: "N", type: "number", defaultValue: "1" });
      // @ts-expect-error a string is not a number
      await api.createFeatureFlag({ body: { key, name: "N", type: "number", defaultValue: "1" } });
    });
  });

  test("type the default value of a new flag by its type without a declaration", () => {
    const { api } = {} as ReturnType<typeof undeclaredAuth>;
    neverRun(async () => {
      await api.createFeatureFlag({ body: { key: "k", name: "N", type: "boolean", defaultValue: true } });
      await api.createFeatureFlag({ body: { key: "k", name: "N", type: "json", defaultValue: [1] } });
      // @ts-expect-error a string is not a boolean
      await api.createFeatureFlag({ body: { key: "k", name: "N", type: "boolean", defaultValue: "yes" } });
      // @ts-expect-error a number is not a string
      await api.createFeatureFlag({ body: { key: "k", name: "N", type: "string", defaultValue: 1 } });
      // @ts-expect-error a date is not JSON
      await api.createFeatureFlag({ body: { key: "k", name: "N", type: "json", defaultValue: new Date() } });
    });
  });

  test("accept any key and return JSON without a declaration", () => {
    neverRun(async () => {
      expectTypeOf(await untyped.featureFlags.getValue("x")).toEqualTypeOf<JsonValue | undefined>();
      expectTypeOf(await untyped.featureFlags.getValue("x", 3)).toEqualTypeOf<JsonValue>();
      expectTypeOf(await untyped.featureFlags.getVariant("x")).toEqualTypeOf<string | null>();
      expectTypeOf(await untyped.featureFlags.isEnabled("x")).toEqualTypeOf<boolean>();
    });
  });
});

describe("the plugins", () => {
  test("are accepted by Better Auth's clients, plain and for React, together with other plugins", () => {
    expectTypeOf(featureFlagsClient()).toExtend<BetterAuthClientPlugin>();
    expectTypeOf(featureFlagsAdminClient()).toExtend<BetterAuthClientPlugin>();
    expectTypeOf<Helpers>().toExtend<FeatureFlagsActions<typeof flags>>();
    expectTypeOf(react.featureFlags.isEnabled).toBeFunction();
    expectTypeOf(react.organization.setActive).toBeFunction();
    expectTypeOf(untyped.signIn.email).toBeFunction();
  });

  test("provide admin helpers only with the admin plugin", () => {
    expectTypeOf(typed.featureFlags.admin.flags.create).toBeFunction();
    // @ts-expect-error there are no admin helpers
    neverRun(() => untyped.featureFlags.admin);
  });

  test("type the error codes of the server", () => {
    expectTypeOf(typed.$ERROR_CODES.FLAG_NOT_FOUND.code).toEqualTypeOf<"FLAG_NOT_FOUND">();
  });
});
