/** The OpenFeature provider for server processes that have no database: it evaluates remote flags. */
import {
  type EvaluationContext,
  OpenFeatureEventEmitter,
  type JsonValue as OpenFeatureJson,
  type Provider,
  ProviderEvents,
  type ResolutionDetails,
} from "@openfeature/server-sdk";
import type { EvaluationReason } from "../engine/definition.ts";
import type { JsonValue } from "../engine/json.ts";
import type { ClaimedContext } from "../model/evaluation.ts";
import { claimOf } from "../model/openfeature.ts";
import { type Resolution, refuse, resolve, type ValueKind } from "./resolution.ts";

/** The members of `createRemoteFlags` that the provider needs. */
export type OpenFeatureRemoteFlags = {
  /** Resolves when there are definitions. */
  readonly ready: Promise<void>;
  /** Whether the definitions are current. */
  readonly state: "connecting" | "live" | "stale" | "closed";
  /** Why they are not. */
  readonly error: Error | undefined;
  /** Evaluates one flag. */
  evaluate(
    key: string,
    options: { context: ClaimedContext },
  ): { readonly value: JsonValue; readonly variant?: string; readonly reason: EvaluationReason };
  /** Calls back when flags have changed. */
  onChange(callback: (change: { readonly keys: readonly string[] }) => void): () => void;
  /** Calls back when the state changes. */
  onState(callback: (state: "connecting" | "live" | "stale" | "closed") => void): () => void;
};

/**
 * Creates a provider for `@openfeature/server-sdk` on remote flags. The context is read as by `createServerProvider`. The
 * provider is ready when the flags are, and emits stale, error and configuration-changed events. Closing it does not close
 * the flags.
 *
 * @example
 * ```ts
 * import { createRemoteProvider } from "@halyard/flags/openfeature";
 * import { createRemoteFlags } from "@halyard/flags/remote";
 * import { OpenFeature } from "@openfeature/server-sdk";
 *
 * const flags = createRemoteFlags({ url: "wss://app.example.com/flag-definitions", key: "…" });
 * await OpenFeature.setProviderAndWait(createRemoteProvider(flags));
 * const isOn = await OpenFeature.getClient().getBooleanValue("new-checkout", false, { targetingKey: "user-1" });
 * ```
 */
export function createRemoteProvider(flags: OpenFeatureRemoteFlags): Provider {
  const events = new OpenFeatureEventEmitter();
  let stops: readonly (() => void)[] = [];

  function stateChanged(state: OpenFeatureRemoteFlags["state"]): void {
    const message = flags.error?.message ?? "The flags may not be current.";
    if (state === "live") events.emit(ProviderEvents.Ready);
    else if (state === "stale") events.emit(ProviderEvents.Stale, { message });
    // Without an error, the application has closed the flags.
    else if (state === "closed" && flags.error !== undefined) events.emit(ProviderEvents.Error, { message });
  }

  async function evaluate(
    key: string,
    kind: ValueKind,
    defaultValue: JsonValue,
    context: EvaluationContext,
  ): Promise<Resolution> {
    if (flags.state === "connecting") {
      return refuse(defaultValue, "PROVIDER_NOT_READY", "There are no flag definitions yet. Wait for ready.");
    }
    try {
      const stale = flags.state !== "live";
      const result = flags.evaluate(key, { context: claimOf(context) });
      return resolve(key, kind, defaultValue, { ...result, flagMetadata: { stale } });
    } catch (error) {
      return refuse(defaultValue, "INVALID_CONTEXT", error instanceof Error ? error.message : String(error));
    }
  }

  /** The SDK's enums are strings at run time, so only the type changes. */
  const as = <Value>(resolution: Promise<Resolution>): Promise<ResolutionDetails<Value>> =>
    resolution as Promise<unknown> as Promise<ResolutionDetails<Value>>;

  return {
    metadata: { name: "@halyard/flags remote" },
    runsOn: "server",
    events,
    async initialize() {
      await flags.ready;
      for (const stop of stops) stop();
      stops = [
        flags.onState(stateChanged),
        flags.onChange(({ keys }) =>
          events.emit(ProviderEvents.ConfigurationChanged, { flagsChanged: [...keys] }),
        ),
      ];
      if (flags.state === "stale") stateChanged("stale");
    },
    async onClose() {
      for (const stop of stops) stop();
      stops = [];
    },
    resolveBooleanEvaluation: (key, value, context) => as<boolean>(evaluate(key, "boolean", value, context)),
    resolveStringEvaluation: (key, value, context) => as<string>(evaluate(key, "string", value, context)),
    resolveNumberEvaluation: (key, value, context) => as<number>(evaluate(key, "number", value, context)),
    resolveObjectEvaluation: <T extends OpenFeatureJson>(key: string, value: T, context: EvaluationContext) =>
      as<T>(evaluate(key, "object", value as JsonValue, context)),
  };
}
