/** Checks the types of declared flags: a wrong key, value or variant does not compile. */

import { createServerFlags, type FeatureFlagsEndpoints } from "@halyard/flags";
import { featureFlagsAdminClient } from "@halyard/flags/admin-client";
import {
  defineFlags,
  type FeatureFlagsActions,
  featureFlagsClient,
  type JsonValue,
} from "@halyard/flags/client";
import { createFlagHooks, useFeatureFlag } from "@halyard/flags/react";
import { testFlags } from "@halyard/flags/testing";
import type { BetterAuthClientPlugin } from "better-auth/client";
import { createAuthClient } from "better-auth/client";
import { organizationClient } from "better-auth/client/plugins";
import { createAuthClient as createReactAuthClient } from "better-auth/react";
import { describe, expectTypeOf, test } from "vitest";

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
  plugins: [featureFlagsClient({ flags }), featureFlagsAdminClient()],
});
const untyped = createAuthClient({ ...options, plugins: [organizationClient(), featureFlagsClient()] });
const react = createReactAuthClient({
  ...options,
  plugins: [featureFlagsClient({ flags }), organizationClient()],
});

type Helpers = typeof typed.featureFlags;
type Value<Key extends keyof typeof flags> = Awaited<ReturnType<typeof read<Key>>>;
const read = <Key extends keyof typeof flags>(key: Key) => typed.featureFlags.getValue(key);

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
    neverRun(async () => {
      const server = createServerFlags({ api }, flags);
      expectTypeOf(await server.isEnabled("beta")).toEqualTypeOf<boolean>();
      expectTypeOf(await server.getValue("search", {}, "keyword")).toEqualTypeOf<"keyword" | "semantic">();
      expectTypeOf(await server.getVariant("search")).toEqualTypeOf<"control" | "semantic" | null>();
      // @ts-expect-error the flag does not exist
      await server.isEnabled("new-chekout");
      // @ts-expect-error a default of another type
      await server.getValue("limit", {}, "3");
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
