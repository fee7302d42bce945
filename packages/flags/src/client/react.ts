"use client";
/** React: the flags of a client as hooks that render the same on the server, in the first paint and after hydration. */
import {
  createContext,
  createElement,
  type ReactElement,
  type ReactNode,
  useContext,
  useEffect,
  useLayoutEffect,
  useMemo,
  useState,
  useSyncExternalStore,
} from "react";
import type { FlagState, FlagsBootstrap } from "../model/bootstrap.ts";
import type {
  FlagDeclarations,
  FlagKey,
  FlagValue,
  FlagValueMap,
  JsonValue,
  ReadValue,
  VariantKey,
} from "../model/declared.ts";
import type { FlagsReading, FlagsStatus, FlagValues } from "./flag-values.ts";

// The types of hooks that an application exports must have names that it can reach.
export type { FlagState, FlagsBootstrap } from "../model/bootstrap.ts";
export type {
  FlagKey,
  FlagValue,
  FlagValueMap,
  JsonValue,
  ReadValue,
  VariantKey,
} from "../model/declared.ts";
export type { FlagsStatus } from "./flag-values.ts";

/** A client with `featureFlagsClient()`, or what `testFlags` gives. */
export type FeatureFlagsReactClient = { readonly featureFlags: { values(): FlagValues } };

export interface FeatureFlagsProviderProps {
  /** Made once, outside of components. */
  readonly client: FeatureFlagsReactClient;
  /** What the server rendered this page with. Without it, hooks give defaults until the first fetch is done. */
  readonly bootstrap?: FlagsBootstrap | undefined;
  /** Asks the server again once mounted, for pages that were rendered long ago or for nobody. Defaults to `false`. */
  readonly revalidate?: boolean | undefined;
  readonly children?: ReactNode;
}

interface Source {
  readonly values: FlagValues;
  readonly rendered: FlagsReading;
}

const hasPage = typeof document !== "undefined";
/** React before 19 complains of layout effects on a server. Before any effect of a child asks for values. */
const useBeforePaint = hasPage ? useLayoutEffect : useEffect;

const SourceContext = createContext<Source | undefined>(undefined);

/**
 * Gives the flags of a client to the hooks below it.
 *
 * @example
 * ```ts
 * import { featureFlagsClient } from "@halyard/flags/client";
 * import { FeatureFlagsProvider, useFeatureFlag } from "@halyard/flags/react";
 * import { createAuthClient } from "better-auth/react";
 * import { createElement } from "react";
 *
 * const client = createAuthClient({ plugins: [featureFlagsClient()] });
 *
 * function Checkout() {
 *   return createElement("p", null, useFeatureFlag("new-checkout", false) ? "new" : "as you know it");
 * }
 *
 * export const app = createElement(FeatureFlagsProvider, { client }, createElement(Checkout));
 * ```
 */
export function FeatureFlagsProvider(props: FeatureFlagsProviderProps): ReactElement {
  const { client, bootstrap, revalidate = false, children } = props;
  const values = client.featureFlags.values();
  // While rendering, so that nobody sees defaults before what the page brought along. Not where others may be showing
  // values already, and never on a server, where one client may serve everybody.
  useState(() => {
    if (bootstrap !== undefined && hasPage && values.status() === "loading") values.hydrate(bootstrap);
  });
  useBeforePaint(() => {
    if (bootstrap !== undefined) values.hydrate(bootstrap);
  }, [values, bootstrap]);
  useEffect(() => {
    if (revalidate) values.invalidate();
  }, [values, revalidate]);
  const source = useMemo(() => ({ values, rendered: values.rendered(bootstrap) }), [values, bootstrap]);
  return createElement(SourceContext.Provider, { value: source }, children);
}

/** The flag's value; renders again when it changes. The default is for a flag of which nothing is known. */
export function useFeatureFlag(key: string): JsonValue | undefined;
export function useFeatureFlag(key: string, defaultValue: JsonValue): JsonValue;
export function useFeatureFlag(key: string, defaultValue?: JsonValue): JsonValue | undefined {
  const { values } = useSource();
  const fallback = defaultValue === undefined ? values.fallback(key) : defaultValue;
  useExposure(key);
  return useReading(({ read }) => {
    const state = read(key);
    return state === undefined ? fallback : state.value;
  });
}

/** The values of all flags by their keys; renders again when any of them changes. */
export function useFeatureFlags(): Readonly<Record<string, JsonValue>> {
  return useReading(({ all }) => all());
}

/** The variant that the flag has for this user, or undefined. */
export function useVariant(key: string): { readonly key: string } | undefined {
  useExposure(key);
  const variant = useReading(({ read }) => read(key)?.variant);
  return useMemo(() => (variant === undefined ? undefined : { key: variant }), [variant]);
}

export type FeatureFlagDetails<Value> = Omit<FlagState, "value"> & {
  readonly value: Value;
  /** Whether the value is a real one: `loading` and `error` say that it is the default. */
  readonly status: FlagsStatus;
};

/** The flag's value with all that is known about it. */
export function useFeatureFlagDetails(key: string): FeatureFlagDetails<JsonValue | undefined>;
export function useFeatureFlagDetails(key: string, defaultValue: JsonValue): FeatureFlagDetails<JsonValue>;
export function useFeatureFlagDetails(
  key: string,
  defaultValue?: JsonValue,
): FeatureFlagDetails<JsonValue | undefined> {
  const { values } = useSource();
  useExposure(key);
  const state = useReading(({ read }) => read(key));
  const status = useReading((reading) => reading.status());
  const fallback = defaultValue === undefined ? values.fallback(key) : defaultValue;
  return useMemo(() => ({ value: fallback, ...state, status }), [state, status, fallback]);
}

/** The same hooks, which know the declared flags. */
export interface FlagHooks<Flags extends FlagDeclarations> {
  useFeatureFlag<Key extends FlagKey<Flags>>(key: Key): ReadValue<Flags, Key>;
  useFeatureFlag<Key extends FlagKey<Flags>>(
    key: Key,
    defaultValue: FlagValue<Flags, Key>,
  ): FlagValue<Flags, Key>;
  useFeatureFlags(): FlagValueMap<Flags>;
  useVariant<Key extends FlagKey<Flags>>(key: Key): { readonly key: VariantKey<Flags, Key> } | undefined;
  useFeatureFlagDetails<Key extends FlagKey<Flags>>(key: Key): FeatureFlagDetails<ReadValue<Flags, Key>>;
  useFeatureFlagDetails<Key extends FlagKey<Flags>>(
    key: Key,
    defaultValue: FlagValue<Flags, Key>,
  ): FeatureFlagDetails<FlagValue<Flags, Key>>;
}

/**
 * The hooks with the types of the declared flags: a wrong key, value or variant does not compile.
 *
 * @example
 * ```ts
 * import { defineFlags } from "@halyard/flags/client";
 * import { createFlagHooks } from "@halyard/flags/react";
 *
 * const flags = defineFlags({ "new-checkout": { type: "boolean", default: false } });
 * export const { useFeatureFlag, useFeatureFlags, useVariant } = createFlagHooks(flags);
 * ```
 */
export function createFlagHooks<const Flags extends FlagDeclarations>(_flags: Flags): FlagHooks<Flags> {
  const hooks = { useFeatureFlag, useFeatureFlags, useVariant, useFeatureFlagDetails };
  // The hooks know keys as text; the declared flags make the types narrower.
  return hooks as unknown as FlagHooks<Flags>;
}

function useSource(): Source {
  const source = useContext(SourceContext);
  if (source === undefined)
    throw new Error(
      "There are no flags here. Put a <FeatureFlagsProvider client={…}> around this component.",
    );
  return source;
}

function useReading<Result>(select: (reading: FlagsReading) => Result): Result {
  const { values, rendered } = useSource();
  return useSyncExternalStore(
    values.subscribe,
    () => select(values),
    () => select(rendered),
  );
}

/** Reports that the flag was shown, once it is on the page. */
function useExposure(key: string): void {
  const { values } = useSource();
  useEffect(() => {
    const expose = (): void => values.expose(key);
    expose();
    // Again for another variant, and for another user.
    return values.subscribe(expose);
  }, [values, key]);
}
