/** The helpers of the client, `authClient.featureFlags.*`. */
import type { FlagsBootstrap } from "../model/bootstrap.ts";
import type {
  BooleanFlagKey,
  FlagDeclarations,
  FlagKey,
  FlagValue,
  FlagValueMap,
  JsonObject,
  JsonValue,
  ReadValue,
  VariantKey,
} from "../model/declared.ts";
import type { ClaimedContext } from "../model/evaluation.ts";
import { createAnonymousId } from "./anonymous-id.ts";
import { isDevelopment, warnInDevelopment } from "./environment.ts";
import {
  createEventSender,
  type TrackBatchResult,
  type TrackItem,
  type TrackOptions,
  type TrackResult,
} from "./events.ts";
import { type ControlledFlagValues, createFlagValues, type FlagValues, isBootstrap } from "./flag-values.ts";
import type { Transport } from "./transport.ts";

export type FeatureFlagsClientOptions<Flags extends FlagDeclarations = FlagDeclarations> = {
  /** The flags that `defineFlags` declared: they type keys, values and variants. */
  flags?: Flags | undefined;
  /** What the server rendered the page with. Reads use it without asking again. */
  bootstrap?: FlagsBootstrap | undefined;
  /** What is known of the visitor beside the session. A signed-in user's own fields need not be here. */
  context?: ClaimedContext | undefined;
  /** The deployment ring to evaluate in. */
  environment?: string | undefined;
  /**
   * An id for a visitor who has not signed in, for flags with `bucketBy: "anonymousId"`: kept in a first-party cookie
   * for a year (`true`, the default in a page), one of your own, or none (`false`).
   */
  anonymousId?: boolean | string | undefined;
  /** Reports which flags were read, for statistics. Defaults to `true`. */
  exposures?: boolean | undefined;
  /** How long a read waits for the server, in ms. Defaults to 5,000. */
  timeoutMs?: number | undefined;
  /**
   * Keeps the runtime from ending before events and exposures are sent: `waitUntil` of `cloudflare:workers`. On Workers no
   * exposures are reported without it.
   */
  waitUntil?: ((work: Promise<unknown>) => void) | undefined;
};

/** Reads never throw and never reject: without an answer they give the default. */
export interface FeatureFlagsActions<Flags extends FlagDeclarations = FlagDeclarations> {
  /** Whether a boolean flag is on. Defaults to `false` for a flag that does not exist. */
  isEnabled(key: BooleanFlagKey<Flags>, defaultValue?: boolean): Promise<boolean>;
  /** The flag's value. The default is for a flag that does not exist, or when nothing is known. */
  getValue<Key extends FlagKey<Flags>>(key: Key): Promise<ReadValue<Flags, Key>>;
  getValue<Key extends FlagKey<Flags>>(
    key: Key,
    defaultValue: FlagValue<Flags, Key>,
  ): Promise<FlagValue<Flags, Key>>;
  /** The key of the variant, or null when there is none. */
  getVariant<Key extends FlagKey<Flags>>(key: Key): Promise<VariantKey<Flags, Key> | null>;
  /** Asks the server for all flags and gives their values by key. What it gives is what reads use from then on. */
  bootstrap(): Promise<FlagValueMap<Flags>>;
  /** @deprecated Use `bootstrap`. */
  getAllFlags(): Promise<FlagValueMap<Flags>>;

  /** Reports an event. Resolves once the server has accepted it or has not; never rejects. */
  track(
    flagKey: FlagKey<Flags>,
    event: string,
    value?: number | JsonObject,
    options?: TrackOptions,
  ): Promise<TrackResult>;
  /** @deprecated Use `track`. */
  trackEvent(
    flagKey: FlagKey<Flags>,
    event: string,
    value?: number | JsonObject,
    options?: TrackOptions,
  ): Promise<TrackResult>;
  /** Reports up to 1,000 events at once. A batch sent again with its `batchId` counts once. */
  trackBatch(
    items: readonly (TrackItem & { flag: FlagKey<Flags> })[],
    batchId?: string,
  ): Promise<TrackBatchResult>;

  /** Gives a flag a value in this client only, and only where `NODE_ENV` is `development` or `test`. */
  setOverride<Key extends FlagKey<Flags>>(flag: Key, value: FlagValue<Flags, Key>): void;
  clearOverrides(): void;

  /** Evaluates for another context from now on: nothing evaluated for the old one is given any more. */
  setContext(context: ClaimedContext | undefined): void;
  /** What bindings to a framework are built on. */
  values(): FlagValues;
}

export interface ActionsControl<Flags extends FlagDeclarations> {
  readonly actions: FeatureFlagsActions<Flags>;
  /** Somebody else may be signed in now. */
  changeIdentity(): void;
  /** The same one is signed in, but something about them may have changed. */
  refresh(): void;
  /** The session as it was just read. */
  seeSession(userId: string | undefined, organizationId: string | undefined): void;
}

const BOOTSTRAP_PATH = "/feature-flags/bootstrap";
const DEFAULT_TIMEOUT_MS = 5_000;
/** Better Auth tells of a sign-in a second time, this soon after it. */
const ECHO_MS = 1_000;

export function createActions<Flags extends FlagDeclarations>(
  transport: Transport,
  options: FeatureFlagsClientOptions<Flags>,
): ActionsControl<Flags> {
  const { environment, anonymousId = true, timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  const now = (): number => performance.now();
  const visitor = createAnonymousId();
  let { context } = options;
  let changedAtMs = Number.NEGATIVE_INFINITY;
  let organization: { readonly id: string | undefined } | undefined;

  function currentContext(): ClaimedContext | undefined {
    const id = typeof anonymousId === "string" ? anonymousId : anonymousId ? visitor.read() : undefined;
    return id === undefined ? context : { anonymousId: id, ...context };
  }

  async function fetchFlags(): Promise<FlagsBootstrap | undefined> {
    const claimed = currentContext();
    const { data, error } = await transport.request<FlagsBootstrap>(BOOTSTRAP_PATH, {
      body: {
        // A flag that is turned off must not look like one that does not exist.
        includeDisabled: true,
        select: ["value", "variant", "reason"],
        ...(claimed && { context: claimed }),
        ...(environment !== undefined && { environment }),
      },
      timeoutMs,
    });
    if (error === null && isBootstrap(data)) return data;
    warnInDevelopment(`Flags could not be fetched: ${error?.message ?? "the answer was not ours"}`);
    return undefined;
  }

  const values: ControlledFlagValues = createFlagValues({
    fetchFlags,
    timeoutMs,
    declared: options.flags ?? {},
    now,
  });
  const events = createEventSender(transport, { ...options, contextOf: currentContext });

  function changeIdentity(): void {
    changedAtMs = now();
    organization = undefined;
    // Who has just signed in did themselves what the visitor did.
    const owner = values.owner();
    events.forget(owner === undefined || owner.userId !== undefined);
    values.changeOwner();
  }

  function expose(key: string): void {
    const state = values.read(key);
    if (options.exposures !== false && state !== undefined && !values.isOverridden(key))
      events.expose(key, state);
  }

  async function read(key: string): Promise<ReturnType<FlagValues["read"]>> {
    await values.ready();
    expose(key);
    return values.read(key);
  }

  async function bootstrapNow(): Promise<FlagValueMap<Flags>> {
    await values.fetch();
    return { ...values.all() } as FlagValueMap<Flags>;
  }

  function hydrate(bootstrap: FlagsBootstrap): void {
    const rendered = bootstrap?.context?.anonymousId;
    // Before the first request: the flags of the page were drawn for this id.
    if (anonymousId === true && rendered !== undefined) visitor.keep(rendered);
    values.hydrate(bootstrap);
  }
  if (options.bootstrap !== undefined) hydrate(options.bootstrap);

  const view: FlagValues = { ...values, hydrate, expose };

  const actions = {
    async isEnabled(key: string, defaultValue?: boolean): Promise<boolean> {
      const state = await read(key);
      if (typeof state?.value === "boolean") return state.value;
      if (state !== undefined) {
        warnInDevelopment(`isEnabled("${key}") asks a flag that is not boolean. It gives the default.`);
      }
      return defaultValue ?? values.fallback(key) === true;
    },
    async getValue(key: string, defaultValue?: JsonValue): Promise<JsonValue | undefined> {
      const state = await read(key);
      if (state !== undefined) return state.value;
      return defaultValue === undefined ? values.fallback(key) : defaultValue;
    },
    async getVariant(key: string): Promise<string | null> {
      return (await read(key))?.variant ?? null;
    },
    bootstrap: bootstrapNow,
    getAllFlags: bootstrapNow,
    track: events.track,
    trackEvent: events.track,
    trackBatch: events.trackBatch,
    setOverride(flag: string, value: JsonValue): void {
      if (isDevelopment()) values.override(flag, value);
    },
    clearOverrides: values.clearOverrides,
    setContext(next: ClaimedContext | undefined): void {
      context = next;
      events.forget(false);
      values.reset();
    },
    values: () => view,
  };

  return {
    // The implementation knows keys as text; the declared flags make the types narrower.
    actions: actions as unknown as FeatureFlagsActions<Flags>,
    changeIdentity,
    refresh() {
      if (now() - changedAtMs > ECHO_MS) values.invalidate();
    },
    seeSession(userId, organizationId) {
      const owner = values.owner();
      const isOther = owner !== undefined && owner.userId !== (context?.userId ?? userId);
      // Until the session has been read once, what the page was rendered for says where it was.
      const rendered = context?.organizationId === undefined ? owner?.organizationId : undefined;
      const before = organization ? organization.id : (rendered ?? organizationId);
      if (isOther || before !== organizationId) changeIdentity();
      organization = { id: organizationId };
    },
  };
}
