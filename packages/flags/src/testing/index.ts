/** A client without a server, for tests of applications and for Storybook. */
import { createActions, type FeatureFlagsActions } from "../client/actions.ts";
import type { ClientResult, RequestOptions, Transport } from "../client/transport.ts";
import type { FlagState, FlagsBootstrap } from "../model/bootstrap.ts";
import type { FlagDeclarations, FlagKey, FlagValue, FlagValueMap, VariantKey } from "../model/declared.ts";

/** The options of `testFlags`. */
export type TestFlagsOptions<Flags extends FlagDeclarations> = {
  /** The flags declared with `defineFlags`. They type keys, values and variants. */
  flags?: Flags | undefined;
  /** The variants by flag key. Default: no variants. */
  variants?: { readonly [Key in FlagKey<Flags>]?: VariantKey<Flags, Key> } | undefined;
};

/** An event that was tracked with the test client. */
export type TrackedEvent = {
  /** The key of the flag. */
  readonly flagKey: string;
  /** The name of the event. */
  readonly event: string;
  /** The number or object that was tracked with it. */
  readonly properties?: unknown;
};

/** Replaces a Better Auth client with `featureFlagsClient()`. */
export interface TestFlags<Flags extends FlagDeclarations = FlagDeclarations> {
  /** The helpers, as `authClient.featureFlags` has them. */
  readonly featureFlags: FeatureFlagsActions<Flags>;
  /** Changes a flag's value, as a change on the server does. */
  set<Key extends FlagKey<Flags>>(
    key: Key,
    value: FlagValue<Flags, Key>,
    variant?: VariantKey<Flags, Key>,
  ): void;
  /** Deletes the flag, so that reads return the default. */
  remove(key: FlagKey<Flags>): void;
  /** The events tracked so far. */
  readonly tracked: readonly TrackedEvent[];
}

/**
 * Creates a client whose flags have these values immediately. No other flags exist.
 *
 * @example
 * ```ts
 * import { testFlags } from "@halyard/flags/testing";
 *
 * const client = testFlags({ "new-checkout": true });
 * console.log(await client.featureFlags.isEnabled("new-checkout")); // true
 * client.set("new-checkout", false);
 * ```
 */
export function testFlags<const Flags extends FlagDeclarations = FlagDeclarations>(
  values: FlagValueMap<Flags> = {},
  { flags, variants = {} }: TestFlagsOptions<Flags> = {},
): TestFlags<Flags> {
  const states = new Map<string, FlagState>();
  const tracked: TrackedEvent[] = [];
  let changes = 0;

  const put = (key: string, value: unknown, variant: unknown): void => {
    const state = { value, ...(variant !== undefined && { variant }), reason: "default" };
    states.set(key, state as FlagState);
  };
  for (const [key, value] of Object.entries(values)) {
    put(key, value, Object.hasOwn(variants, key) ? variants[key as FlagKey<Flags>] : undefined);
  }

  const bootstrap = (): FlagsBootstrap => ({
    flags: Object.fromEntries(states),
    // Only the order matters: a newer bootstrap replaces the older one.
    evaluatedAt: new Date(++changes).toISOString(),
  });

  const transport: Transport = {
    async request<Data>(path: string, { body }: RequestOptions = {}): Promise<ClientResult<Data>> {
      return { data: answer(path, body) as Data, error: null };
    },
    beacon: () => undefined,
  };

  function answer(path: string, body: object = {}): object {
    if (path.endsWith("/bootstrap")) return bootstrap();
    if (!path.includes("/events")) return {};
    const events = "events" in body ? (body.events as TrackedEvent[]) : [body as TrackedEvent];
    tracked.push(
      ...events.map(({ flagKey, event, properties }) => ({
        flagKey,
        event,
        ...(properties !== undefined && { properties }),
      })),
    );
    const id = `test-${tracked.length}`;
    return path.endsWith("/batch")
      ? { success: events.length, failed: 0, batchId: "idempotencyKey" in body ? body.idempotencyKey : id }
      : { success: true, eventId: id };
  }

  const { actions } = createActions<Flags>(transport, {
    flags,
    bootstrap: bootstrap(),
    anonymousId: false,
    exposures: false,
  });
  const view = actions.values();
  const change = (): void => view.hydrate(bootstrap());

  return {
    featureFlags: {
      ...actions,
      // A test has no server rendering, so a page renders with this client's own values.
      values: () => Object.assign(view, { rendered: () => view }),
    },
    set(key, value, variant) {
      put(key, value, variant);
      change();
    },
    remove(key) {
      states.delete(key);
      change();
    },
    tracked,
  };
}
