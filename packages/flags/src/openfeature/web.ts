/** The OpenFeature provider for pages. It reads the flags of a Better Auth client. */
import {
  type EvaluationContext,
  OpenFeatureEventEmitter,
  type JsonValue as OpenFeatureJson,
  type Provider,
  ProviderEvents,
  type ResolutionDetails,
} from "@openfeature/web-sdk";
import type { TrackOptions } from "../client/events.ts";
import type { FlagsStatus, FlagValues } from "../client/flag-values.ts";
import type { JsonObject, JsonValue } from "../engine/json.ts";
import type { ClaimedContext } from "../model/evaluation.ts";
import { claimOf } from "../model/openfeature.ts";
import { type Resolution, readTracking, refuse, resolve, type ValueKind } from "./resolution.ts";

/** A client with `featureFlagsClient()`, or the result of `testFlags()`. */
export type OpenFeatureClient = {
  /** The helpers of the client. */
  readonly featureFlags: {
    /** The flag values. */
    values(): FlagValues;
    /** Changes the context. */
    setContext(context: ClaimedContext | undefined): void;
    /** Sends an event. */
    track(flag: string, event: string, value?: number | JsonObject, options?: TrackOptions): Promise<unknown>;
  };
};

/**
 * Creates a provider for `@openfeature/web-sdk`. The session identifies the user. The server refuses a `targetingKey` that
 * is not the signed-in user's id.
 *
 * @example
 * ```ts
 * import { featureFlagsClient } from "@halyard/flags/client";
 * import { createWebProvider } from "@halyard/flags/openfeature/web";
 * import { OpenFeature } from "@openfeature/web-sdk";
 * import { createAuthClient } from "better-auth/client";
 *
 * const authClient = createAuthClient({ plugins: [featureFlagsClient()] });
 * await OpenFeature.setProviderAndWait(createWebProvider(authClient));
 * const isOn = OpenFeature.getClient().getBooleanValue("new-checkout", false);
 * ```
 */
export function createWebProvider(client: OpenFeatureClient): Provider {
  const { featureFlags } = client;
  const values = featureFlags.values();
  const events = new OpenFeatureEventEmitter();
  let unsubscribe: (() => void) | undefined;
  let status: FlagsStatus = "loading";
  /** Number of context changes in progress. The SDK emits the events of a context change itself. */
  let reconciling = 0;

  function emitChanges(changed: readonly string[]): void {
    const [before, now] = [status, values.status()];
    status = now;
    if (reconciling > 0) return;
    if (now !== before && now === "stale")
      events.emit(ProviderEvents.Stale, { message: "No response from the server." });
    if (now !== before && now === "error")
      events.emit(ProviderEvents.Error, { message: "No response from the server." });
    if (now !== before && now === "ready") events.emit(ProviderEvents.Ready);
    if (changed.length > 0) events.emit(ProviderEvents.ConfigurationChanged, { flagsChanged: [...changed] });
  }

  async function load(): Promise<void> {
    await values.ready();
    if (values.status() === "error")
      throw new Error("The flags could not be fetched. The client retries automatically.");
  }

  function evaluate(key: string, kind: ValueKind, defaultValue: JsonValue): Resolution {
    const loadStatus = values.status();
    if (loadStatus === "loading" || loadStatus === "error") {
      return refuse(
        defaultValue,
        "PROVIDER_NOT_READY",
        "The flags are not loaded yet. Wait for the provider with setProviderAndWait().",
      );
    }
    loadStatus satisfies "ready" | "stale";
    const state = values.read(key);
    values.expose(key);
    const resolution = resolve(key, kind, defaultValue, state ?? { value: null, reason: "not_found" });
    return loadStatus === "stale" && resolution.errorCode === undefined
      ? { ...resolution, reason: "STALE" }
      : resolution;
  }

  /** The SDK's enums are strings at run time, so only the type changes. */
  const as = <Value>(resolution: Resolution): ResolutionDetails<Value> =>
    resolution as unknown as ResolutionDetails<Value>;

  return {
    metadata: { name: "@halyard/flags" },
    runsOn: "client",
    events,
    async initialize(context: EvaluationContext = {}) {
      if (Object.keys(context).length > 0) featureFlags.setContext(claimOf(context));
      try {
        await load();
      } finally {
        status = values.status();
        unsubscribe?.();
        unsubscribe = values.subscribe(emitChanges);
      }
    },
    async onContextChange(_before: EvaluationContext, context: EvaluationContext) {
      reconciling += 1;
      try {
        featureFlags.setContext(claimOf(context));
        await load();
      } finally {
        reconciling -= 1;
      }
    },
    async onClose() {
      unsubscribe?.();
    },
    resolveBooleanEvaluation: (key, value) => as<boolean>(evaluate(key, "boolean", value)),
    resolveStringEvaluation: (key, value) => as<string>(evaluate(key, "string", value)),
    resolveNumberEvaluation: (key, value) => as<number>(evaluate(key, "number", value)),
    resolveObjectEvaluation: <T extends OpenFeatureJson>(key: string, value: T) =>
      as<T>(evaluate(key, "object", value as JsonValue)),
    track(event, _context, details) {
      const tracked = readTracking(event, details);
      if (tracked === undefined) return;
      const { flagKey, value, properties } = tracked;
      void featureFlags.track(
        flagKey,
        event,
        properties === undefined ? value : { ...properties, ...(value !== undefined && { value }) },
      );
    },
  };
}
