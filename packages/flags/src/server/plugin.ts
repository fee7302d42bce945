/** The Better Auth plugin: its tables, its endpoints, and the one store behind them per auth instance. */
import { type AuthEndpoint, createAuthEndpoint } from "@better-auth/core/api";
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { mergeSchema } from "better-auth/db";
import { FEATURE_FLAG_ERROR_CODES, type FeatureFlagErrorCodes } from "../model/errors.ts";
import type {
  AnyEvaluationResult,
  EvaluateFeatureFlagInput,
  EvaluationResult,
  EvaluationSelect,
} from "../model/evaluation.ts";
import type { FeatureFlag } from "../model/flag.ts";
import type { CreateFeatureFlagInput } from "../model/inputs.ts";
import { createTables, type FeatureFlagTableNames, type FeatureFlagTables } from "../model/tables.ts";
import { createFlagStore, type FlagStore } from "../store/store.ts";
import { createFlag } from "./admin-flags.ts";
import type { Call } from "./call.ts";
import { evaluateFlag } from "./evaluate.ts";

export type FeatureFlagsOptions = {
  /**
   * Other names for the plugin's tables and columns.
   *
   * ```ts
   * import { featureFlags } from "@halyard/flags";
   *
   * featureFlags({ schema: { featureFlag: { modelName: "feature_flag", fields: { createdAt: "created_at" } } } });
   * ```
   */
  schema?: FeatureFlagTableNames | undefined;
};

type Post<Path extends string, Input, Output> = AuthEndpoint<
  Path,
  { method: "POST"; body: StandardSchemaV1<Input>; metadata: { scope: "server" } },
  Output
>;

type EvaluateEndpoint = (<const Select extends EvaluationSelect = "full">(call: {
  body: EvaluateFeatureFlagInput<Select>;
  headers?: HeadersInit;
}) => Promise<EvaluationResult<Select>>) &
  Post<"/feature-flags/evaluate", EvaluateFeatureFlagInput, AnyEvaluationResult>;

/**
 * Written by hand, not inferred: inferred endpoint types name packages that a user's package manager may not resolve.
 */
export type FeatureFlagsPlugin = {
  id: "feature-flags";
  endpoints: {
    /** Creates a flag. Without `headers` the call is trusted; with them the caller needs `featureFlag: ["create"]`. */
    createFeatureFlag: Post<"/feature-flags/admin/flags", CreateFeatureFlagInput, FeatureFlag>;
    /** Evaluates a flag. A flag that does not exist gives the caller's `default` and reason `not_found`. */
    evaluateFeatureFlag: EvaluateEndpoint;
  };
  schema: FeatureFlagTables;
  $ERROR_CODES: FeatureFlagErrorCodes;
};

/**
 * Feature flags in the database of a Better Auth server.
 *
 * ```ts
 * import { featureFlags } from "@halyard/flags";
 * import { betterAuth } from "better-auth";
 * import { admin } from "better-auth/plugins";
 * import { Pool } from "pg";
 *
 * const auth = betterAuth({ database: new Pool(), plugins: [admin(), featureFlags()] });
 * const { value } = await auth.api.evaluateFeatureFlag({ body: { flagKey: "new-checkout", default: false } });
 * ```
 */
export function featureFlags(options: FeatureFlagsOptions = {}): FeatureFlagsPlugin {
  // One plugin object may serve several auth instances: each has an adapter, and with it a store, of its own.
  const stores = new WeakMap<object, FlagStore>();

  function storeOf({ context: { adapter, logger } }: Call): FlagStore {
    const known = stores.get(adapter);
    if (known !== undefined) return known;
    const store = createFlagStore(adapter, (message, error) => {
      logger.warn(`[feature-flags] ${message}`, error);
    });
    stores.set(adapter, store);
    return store;
  }

  return {
    id: "feature-flags",
    schema: mergeSchema(createTables(), options.schema),
    $ERROR_CODES: FEATURE_FLAG_ERROR_CODES,
    endpoints: {
      createFeatureFlag: createAuthEndpoint(
        "/feature-flags/admin/flags",
        { method: "POST", body: anyBody<CreateFeatureFlagInput>(), metadata: { scope: "server" } },
        (call) => createFlag(call, storeOf(call)),
      ),
      evaluateFeatureFlag: createAuthEndpoint(
        "/feature-flags/evaluate",
        { method: "POST", body: anyBody<EvaluateFeatureFlagInput>(), metadata: { scope: "server" } },
        (call) => evaluateFlag(call, storeOf(call)),
        // Better Auth's type has one result per endpoint; ours depends on `select`.
      ) as EvaluateEndpoint,
    },
  };
}

/** Gives a body its type and leaves its validation to the handler, which first asks who is calling. */
function anyBody<Input>(): StandardSchemaV1<Input> {
  return { "~standard": { version: 1, vendor: "halyard", validate: (value) => ({ value: value as Input }) } };
}
