/** What a user of @halyard/flags may write, with the types they may rely on. Compiled against the packed tarball. */

import {
  type AuditEntry,
  closeFeatureFlags,
  FEATURE_FLAG_ERROR_CODES,
  type FeatureFlag,
  type FlagOverride,
  type FlagRule,
  featureFlagStatements,
  featureFlags,
  type JsonValue,
  type Page,
  type RuleConditions,
  type WithWarnings,
  withFeatureFlags,
} from "@halyard/flags";
import { openConsolePort } from "@halyard/flags/console";
import { compileFlag } from "@halyard/flags/engine";
import { flagDefinitions, liveFlags } from "@halyard/flags/live";
import { featureFlagsLiveClient } from "@halyard/flags/live-client";
import { toNodeHandler } from "@halyard/flags/node";
import { type RateLimitRedisClient, redisRateLimitStore } from "@halyard/flags/redis";
import { createRemoteFlags } from "@halyard/flags/remote";
import { betterAuth } from "better-auth";
import { admin } from "better-auth/plugins";
import { createAccessControl } from "better-auth/plugins/access";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function assertEqual<A, B>(..._proof: Equal<A, B> extends true ? [] : [never]): void {}

export const auth = betterAuth({
  secret: "a secret for a program that is only compiled",
  plugins: [featureFlags({ schema: { featureFlag: { modelName: "feature_flag" } } })],
});

export const port: unknown = openConsolePort(auth);

/** A library may export single methods: their declarations name every type that they contain. */
export const { createFeatureFlag, updateFeatureFlag, deleteFeatureFlag, listFeatureFlags } = auth.api;
export const { evaluateFeatureFlag, evaluateFeatureFlags, bootstrapFeatureFlags } = auth.api;
export const { createFeatureFlagRule, createFeatureFlagEvent, planFeatureFlags } = auth.api;
export const { getFeatureFlagsHealth } = auth.api;

const faster = withFeatureFlags(auth);
assertEqual<typeof faster, typeof auth>();
toNodeHandler(faster) satisfies (...parts: never[]) => Promise<void>;

// Not exported: under pnpm the type of Better Auth's own admin plugin cannot be written down without naming zod.
const besideOthers = betterAuth({ plugins: [admin(), featureFlags()] });

export const limitedTogether = (redis: RateLimitRedisClient) =>
  featureFlags({
    rateLimit: { rules: { events: false }, store: redisRateLimitStore(redis, { prefix: "app:" }) },
  });

export async function decide(headers: Headers): Promise<boolean> {
  const flag = await auth.api.createFeatureFlag({
    body: { key: "new-checkout", name: "New checkout", type: "boolean", enabled: true, defaultValue: true },
  });
  assertEqual<typeof flag, WithWarnings<FeatureFlag>>();

  const full = await auth.api.evaluateFeatureFlag({ body: { flagKey: flag.key }, headers });
  assertEqual<typeof full.value, JsonValue>();
  full.reason satisfies string;

  const short = await auth.api.evaluateFeatureFlag({ body: { flagKey: flag.key, select: "value" } });
  // @ts-expect-error only the value was asked for
  short.reason;
  // @ts-expect-error a flag is asked for by its key
  await auth.api.evaluateFeatureFlag({ body: {} });

  const many = await auth.api.evaluateFeatureFlags({ body: { flagKeys: [flag.key], select: "value" } });
  assertEqual<(typeof many.flags)[string], JsonValue>();
  const all = await auth.api.bootstrapFeatureFlags({ body: { prefix: "new-" }, headers });
  all.context satisfies object;

  // @ts-expect-error a rule of a percentage needs conditions too
  await auth.api.createFeatureFlagRule({ body: { flagId: flag.id, priority: 1, percentage: 10 } });
  // @ts-expect-error the operator is not one of the thirteen
  conditions({ attribute: "plan", operator: "like", value: "pro" });

  // The plugins beside it keep their types.
  assertEqual<ReturnType<typeof besideOthers.api.listUsers> extends Promise<unknown> ? true : false, true>();
  assertEqual<typeof besideOthers.api.createFeatureFlag, typeof auth.api.createFeatureFlag>();
  FEATURE_FLAG_ERROR_CODES satisfies object;
  return short.value === true;
}

function conditions(...list: RuleConditions["conditions"]): RuleConditions {
  return { conditions: list };
}

export async function administer(flagId: string): Promise<Page> {
  const everybody = conditions({ attribute: "plan", operator: "in", value: ["pro"] }, { segment: "beta" });
  const rule = await auth.api.createFeatureFlagRule({
    body: { flagId, priority: 1, conditions: everybody, value: true },
  });
  assertEqual<typeof rule, WithWarnings<FlagRule>>();
  const override = await auth.api.createFeatureFlagOverride({ body: { flagId, userId: "ada", value: true } });
  assertEqual<typeof override, WithWarnings<FlagOverride>>();
  assertEqual<Awaited<ReturnType<typeof auth.api.deleteFeatureFlag>>, void>();
  const { entries } = await auth.api.listFeatureFlagAuditEntries({ query: { flagId, action: "update" } });
  assertEqual<(typeof entries)[number], AuditEntry>();
  const { flags, page } = await auth.api.listFeatureFlags({ query: { sort: "-createdAt", limit: 10 } });
  flags satisfies readonly FeatureFlag[];
  await closeFeatureFlags(auth);
  return page;
}

export const support: object = createAccessControl(featureFlagStatements).newRole({
  featureFlag: ["read", "override"],
});

export const answer: JsonValue = compileFlag(
  { key: "k", type: "boolean", enabled: true, rules: [] },
  new Map(),
).evaluate({ userId: "ada" }).value;

export const live = {
  liveFlags,
  flagDefinitions,
  plugin: featureFlagsLiveClient({ url: "wss://example.com/live" }),
};
export const remote = (key: string) => createRemoteFlags({ url: "wss://example.com/flags", key });
