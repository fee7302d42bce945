"use client";
/** React hooks for flags. They render the same on the server, in the first paint and after hydration. */
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
import type { LiveConnection } from "./seam.ts";

// An application that exports these hooks needs the names of their types.
export type { FlagState, FlagsBootstrap } from "../model/bootstrap.ts";
export type {
  FlagKey,
  FlagValue,
  FlagValueMap,
  JsonValue,
  ReadValue,
  ValueOf,
  VariantKey,
  VariantOf,
} from "../model/declared.ts";
export type { FlagsStatus } from "./flag-values.ts";
export type { LiveConnection } from "./seam.ts";

/** A client with `featureFlagsClient()`, or the result of `testFlags()`. */
export type FeatureFlagsReactClient = {
  /** The helpers of the client. */
  readonly featureFlags: {
    /** The flag values. */
    values(): FlagValues;
    /** With `featureFlagsLiveClient()`. */
    subscribe?(): LiveSource;
  };
};

/** A subscription of `featureFlagsLiveClient()`, as far as React uses it. */
export interface LiveSource {
  /** Whether the server pushes changes now. */
  readonly state: LiveConnection;
  /** Calls the listener with every new state. */
  on(type: "state", listener: () => void): () => void;
  /** Ends the subscription. */
  close(): void;
}

/** The properties of `FeatureFlagsProvider`. */
export interface FeatureFlagsProviderProps {
  /** Create it once, outside of components. */
  readonly client: FeatureFlagsReactClient;
  /** The flags the page was rendered with. Without them, hooks return defaults until the first response. */
  readonly bootstrap?: FlagsBootstrap | undefined;
  /** Fetches values again after mounting, for cached or static pages. Default `false`. */
  readonly revalidate?: boolean | undefined;
  /** Follows changes of flags while mounted. Needs `featureFlagsLiveClient()`. Default `false`. */
  readonly live?: boolean | undefined;
  /** The components that read flags. */
  readonly children?: ReactNode;
}

interface Source {
  readonly values: FlagValues;
  readonly rendered: FlagsReading;
  readonly live: LiveSource | undefined;
}

const hasPage = typeof document !== "undefined";
/** A layout effect runs before the effects of children. React 18 warns about layout effects on a server. */
const useBeforePaint = hasPage ? useLayoutEffect : useEffect;

const SourceContext = createContext<Source | undefined>(undefined);

/**
 * Provides the flags of a client to the hooks in its children.
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
  const { client, bootstrap, revalidate = false, live = false, children } = props;
  const [source, setSource] = useState<LiveSource>();
  const values = client.featureFlags.values();
  // Hydrates while rendering, so that the first paint has the page's values and not defaults. Skipped if values are
  // loaded, and on a server, where one client may serve many users.
  useState(() => {
    if (bootstrap !== undefined && hasPage && values.status() === "loading") values.hydrate(bootstrap);
  });
  useBeforePaint(() => {
    if (bootstrap !== undefined) values.hydrate(bootstrap);
  }, [values, bootstrap]);
  useEffect(() => {
    if (revalidate) values.invalidate();
  }, [values, revalidate]);
  useEffect(() => {
    const opened = live ? client.featureFlags.subscribe?.() : undefined;
    setSource(opened);
    return () => opened?.close();
  }, [client, live]);
  const rendered = useMemo(() => values.rendered(bootstrap), [values, bootstrap]);
  const value = useMemo(() => ({ values, rendered, live: source }), [values, rendered, source]);
  return createElement(SourceContext.Provider, { value }, children);
}

/** The flag's value. Renders again when it changes. The default applies if the flag does not exist or is not loaded. */
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

/** The values of all flags by key. Renders again when any value changes. */
export function useFeatureFlags(): Readonly<Record<string, JsonValue>> {
  return useReading(({ all }) => all());
}

/** The flag's variant for this user, or undefined. */
export function useVariant(key: string): { readonly key: string } | undefined {
  useExposure(key);
  const variant = useReading(({ read }) => read(key)?.variant);
  return useMemo(() => (variant === undefined ? undefined : { key: variant }), [variant]);
}

/** The result of `useFeatureFlagDetails`. */
export type FeatureFlagDetails<Value> = Omit<FlagState, "value"> & {
  /** The flag's value, or the default. */
  readonly value: Value;
  /** With `loading` and `error`, the value is the default. */
  readonly status: FlagsStatus;
};

/** The flag's value with variant, reason and status. */
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

/** How current the flags of the page are. */
export interface FlagsCurrency {
  /** Whether the values are loaded, and whether the last request succeeded. */
  readonly status: FlagsStatus;
  /** `live`: the server pushes changes. `polling`: values are at most about 30 s old. `off`: without the property `live`. */
  readonly connection: LiveConnection | "off";
  /** Whether the values may be out of date: nothing keeps them current, or the last request failed. */
  readonly stale: boolean;
}

/** How current the flags are: whether they are loaded, and whether changes arrive. Renders again when that changes. */
export function useFlagsStatus(): FlagsCurrency {
  const { live } = useSource();
  const status = useReading((reading) => reading.status());
  const connection = useSyncExternalStore<LiveConnection | "off">(
    (listener) => live?.on("state", listener) ?? (() => undefined),
    () => live?.state ?? "off",
    () => "off",
  );
  return useMemo(() => {
    const stale = status !== "ready" || connection === "connecting" || connection === "closed";
    return { status, connection, stale };
  }, [status, connection]);
}

/** The hooks with the types of the declared flags. */
export interface FlagHooks<Flags extends FlagDeclarations> {
  /** The flag's value. The default applies until it is loaded, and for a flag that does not exist. */
  useFeatureFlag<Key extends FlagKey<Flags>>(key: Key): ReadValue<Flags, Key>;
  useFeatureFlag<Key extends FlagKey<Flags>>(
    key: Key,
    defaultValue: FlagValue<Flags, Key>,
  ): FlagValue<Flags, Key>;
  /** All values by key. */
  useFeatureFlags(): FlagValueMap<Flags>;
  /** The flag's variant for this user, or undefined. */
  useVariant<Key extends FlagKey<Flags>>(key: Key): { readonly key: VariantKey<Flags, Key> } | undefined;
  /** The flag's value with variant, reason and status. */
  useFeatureFlagDetails<Key extends FlagKey<Flags>>(key: Key): FeatureFlagDetails<ReadValue<Flags, Key>>;
  useFeatureFlagDetails<Key extends FlagKey<Flags>>(
    key: Key,
    defaultValue: FlagValue<Flags, Key>,
  ): FeatureFlagDetails<FlagValue<Flags, Key>>;
}

/**
 * Returns the hooks with the types of the declared flags. A wrong key, value or variant does not compile.
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
  // The implementation uses string keys; the declared flags only narrow the types.
  return hooks as unknown as FlagHooks<Flags>;
}

function useSource(): Source {
  const source = useContext(SourceContext);
  if (source === undefined)
    throw new Error(
      "A feature flag hook needs a provider. Render this component inside <FeatureFlagsProvider client={…}>.",
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

/** Reports the exposure after the component is mounted. */
function useExposure(key: string): void {
  const { values } = useSource();
  useEffect(() => {
    const expose = (): void => values.expose(key);
    expose();
    // Reports again for another variant or another user.
    return values.subscribe(expose);
  }, [values, key]);
}
