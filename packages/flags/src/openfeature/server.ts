/** OpenFeature on the server: a provider that evaluates in process, as trusted code. */
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

/** The part of an auth instance with `featureFlags()` that the provider needs. */
export type OpenFeatureAuth = {
  readonly api: {
    evaluateFeatureFlag(call: { body: EvaluateFeatureFlagInput<"full"> }): Promise<EvaluationResult<"full">>;
    getFeatureFlagsHealth(): Promise<{ status: string; revision?: number; stale?: boolean }>;
    createFeatureFlagEvent?(call: { body: FeatureFlagEventInput }): Promise<unknown>;
  };
};

export type ServerProviderOptions = {
  /** The deployment ring to evaluate in. */
  environment?: string | undefined;
  /** How often, in ms, the provider looks whether flags have changed, to say so. Defaults to 1,000; 0 turns it off. */
  pollMs?: number | undefined;
};

const DEFAULT_POLL_MS = 1_000;

/**
 * A provider for `@openfeature/server-sdk`. `targetingKey` is the user's id; `email`, `role`, `organizationId`,
 * `anonymousId`, `device` and `geo` are what they are in our context, and everything else is an attribute.
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
  const { environment, pollMs = DEFAULT_POLL_MS } = options;
  const events = new OpenFeatureEventEmitter();
  let timer: ReturnType<typeof setInterval> | undefined;
  let revision: number | undefined;
  let isStale = false;
  let isLooking = false;

  async function look(): Promise<void> {
    if (isLooking) return;
    isLooking = true;
    try {
      const health = await api.getFeatureFlagsHealth();
      // Without figures there is no answer from the database at all.
      const stale = health.stale ?? health.status !== "ok";
      if (stale && !isStale) events.emit(ProviderEvents.Stale, { message: "The database cannot be asked." });
      if (!stale && isStale) events.emit(ProviderEvents.Ready);
      isStale = stale;
      if (health.revision === undefined) return;
      if (revision !== undefined && health.revision !== revision) {
        events.emit(ProviderEvents.ConfigurationChanged, { message: `Revision ${health.revision}` });
      }
      revision = health.revision;
    } catch {
      // Evaluations say what is wrong; here there is only nothing to tell.
    } finally {
      isLooking = false;
    }
  }

  async function evaluate(
    key: string,
    kind: ValueKind,
    defaultValue: JsonValue,
    context: EvaluationContext,
  ): Promise<Resolution> {
    try {
      const body = { flagKey: key, context: claimOf(context), ...(environment && { environment }) };
      const { metadata, ...result } = await api.evaluateFeatureFlag({ body });
      const { revision, stale = false } = metadata;
      return resolve(key, kind, defaultValue, { ...result, flagMetadata: { revision, stale } });
    } catch (error) {
      const isRefused = typeof error === "object" && error !== null && "statusCode" in error;
      const code = isRefused && error.statusCode === 400 ? "INVALID_CONTEXT" : "GENERAL";
      return refuse(defaultValue, code, error instanceof Error ? error.message : String(error));
    }
  }

  /** The SDK's enums are text; only its types know them by other names. */
  const as = <Value>(resolution: Promise<Resolution>): Promise<ResolutionDetails<Value>> =>
    resolution as Promise<unknown> as Promise<ResolutionDetails<Value>>;

  return {
    metadata: { name: "@halyard/flags" },
    runsOn: "server",
    events,
    async initialize() {
      await look();
      clearInterval(timer);
      if (pollMs === 0) return;
      timer = setInterval(() => void look(), pollMs);
      // Only Node and Bun have it, and only there does a timer keep the process alive.
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
          console.warn(`[feature-flags] The event ${event} was not tracked.`, error),
        );
    },
  };
}
