/** The OpenFeature provider for servers. It evaluates in process, as a server call. */
import {
  type EvaluationContext,
  OpenFeatureEventEmitter,
  type JsonValue as OpenFeatureJson,
  type Provider,
  ProviderEvents,
  type ResolutionDetails,
} from "@openfeature/server-sdk";
import type { JsonValue } from "../engine/json.ts";
import type { EvaluateFeatureFlagInput, EvaluationResult } from "../model/evaluation.ts";
import type { FeatureFlagEventInput } from "../model/event.ts";
import { claimOf } from "../model/openfeature.ts";
import { type Resolution, readTracking, refuse, resolve, type ValueKind } from "./resolution.ts";

export { createRemoteProvider, type OpenFeatureRemoteFlags } from "./remote.ts";

/** The part of an auth instance with `featureFlags()` that the provider needs. */
export type OpenFeatureAuth = {
  /** The methods of `auth.api` that are called. */
  readonly api: {
    /** Evaluates one flag. */
    evaluateFeatureFlag(call: { body: EvaluateFeatureFlagInput<"full"> }): Promise<EvaluationResult<"full">>;
    /** Gives the revision and the number of changes, by which changes are noticed. */
    getFeatureFlagsHealth(): Promise<{
      /** Whether the service works. */
      status: string;
      /** Increases with every change of the global flags. */
      revision?: number;
      /** Increases with every change of flags that the process has loaded. */
      changes?: number;
      /** Whether the flags may be out of date. */
      stale?: boolean;
    }>;
    /** Records an event of `track`. */
    createFeatureFlagEvent?(call: { body: FeatureFlagEventInput }): Promise<unknown>;
  };
};

/** The options of `createServerProvider`. */
export type ServerProviderOptions = {
  /** The environment to evaluate in, such as `"beta"`. */
  environment?: string | undefined;
  /** How often the provider checks for changes to emit events, in ms. Default 1,000; 0 turns the check off. */
  pollMs?: number | undefined;
  /** Records for statistics that each evaluated flag was shown to the user. Default `false`. */
  track?: boolean | undefined;
};

const DEFAULT_POLL_MS = 1_000;

/**
 * Creates a provider for `@openfeature/server-sdk`. `targetingKey` is the user's id. `email`, `role`, `organizationId`,
 * `anonymousId`, `device` and `geo` are fields of the evaluation context; every other field becomes an attribute.
 *
 * @example
 * ```ts
 * import { featureFlags } from "@halyard/flags";
 * import { createServerProvider } from "@halyard/flags/openfeature";
 * import { OpenFeature } from "@openfeature/server-sdk";
 * import { betterAuth } from "better-auth";
 *
 * const auth = betterAuth({ plugins: [featureFlags()] });
 * await OpenFeature.setProviderAndWait(createServerProvider(auth));
 * const isOn = await OpenFeature.getClient().getBooleanValue("new-checkout", false, { targetingKey: "user-1" });
 * ```
 */
export function createServerProvider(
  { api }: OpenFeatureAuth,
  options: ServerProviderOptions = {},
): Provider {
  const { environment, pollMs = DEFAULT_POLL_MS, track = false } = options;
  const events = new OpenFeatureEventEmitter();
  let timer: ReturnType<typeof setInterval> | undefined;
  /** Number of changes of all tenants or, where health does not have it, revision of the global flags. */
  let seen: number | undefined;
  let isStale = false;
  let isChecking = false;

  async function checkHealth(): Promise<void> {
    if (isChecking) return;
    isChecking = true;
    try {
      const health = await api.getFeatureFlagsHealth();
      // Without details, health could not read the database.
      const stale = health.stale ?? health.status !== "ok";
      if (stale && !isStale)
        events.emit(ProviderEvents.Stale, {
          message: "The database does not respond. Evaluations use the last snapshot.",
        });
      if (!stale && isStale) events.emit(ProviderEvents.Ready);
      isStale = stale;
      const { revision, changes = revision } = health;
      if (changes === undefined) return;
      if (seen !== undefined && changes !== seen) {
        events.emit(ProviderEvents.ConfigurationChanged, {
          message: `Flags have changed. The global flags are at revision ${revision}.`,
        });
      }
      seen = changes;
    } catch {
      // Evaluations report the error. Without a health result there is no event to emit.
    } finally {
      isChecking = false;
    }
  }

  async function evaluate(
    key: string,
    kind: ValueKind,
    defaultValue: JsonValue,
    context: EvaluationContext,
  ): Promise<Resolution> {
    try {
      const body = {
        flagKey: key,
        context: claimOf(context),
        ...(environment && { environment }),
        ...(track && { track }),
      };
      const { metadata, ...result } = await api.evaluateFeatureFlag({ body });
      const { revision, stale = false } = metadata;
      return resolve(key, kind, defaultValue, { ...result, flagMetadata: { revision, stale } });
    } catch (error) {
      const isRefused = typeof error === "object" && error !== null && "statusCode" in error;
      const code = isRefused && error.statusCode === 400 ? "INVALID_CONTEXT" : "GENERAL";
      return refuse(defaultValue, code, error instanceof Error ? error.message : String(error));
    }
  }

  /** The SDK's enums are strings at run time, so only the type changes. */
  const as = <Value>(resolution: Promise<Resolution>): Promise<ResolutionDetails<Value>> =>
    resolution as Promise<unknown> as Promise<ResolutionDetails<Value>>;

  return {
    metadata: { name: "@halyard/flags" },
    runsOn: "server",
    events,
    async initialize() {
      await checkHealth();
      clearInterval(timer);
      if (pollMs === 0) return;
      timer = setInterval(() => void checkHealth(), pollMs);
      // Only timers of Node and Bun keep the process alive and have `unref`.
      if (typeof timer === "object") timer.unref();
    },
    async onClose() {
      clearInterval(timer);
    },
    resolveBooleanEvaluation: (key, value, context) => as<boolean>(evaluate(key, "boolean", value, context)),
    resolveStringEvaluation: (key, value, context) => as<string>(evaluate(key, "string", value, context)),
    resolveNumberEvaluation: (key, value, context) => as<number>(evaluate(key, "number", value, context)),
    resolveObjectEvaluation: <T extends OpenFeatureJson>(key: string, value: T, context: EvaluationContext) =>
      as<T>(evaluate(key, "object", value as JsonValue, context)),
    track(event, context, details) {
      const tracked = readTracking(event, details);
      if (tracked === undefined || api.createFeatureFlagEvent === undefined) return;
      api
        .createFeatureFlagEvent({ body: { ...tracked, context: claimOf(context) } })
        .catch((error: unknown) =>
          console.warn(`[feature-flags] The event "${event}" was not tracked.`, error),
        );
    },
  };
}
