/** Implements the client helpers, `authClient.featureFlags.*`. */
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
import type { FlagsPosition } from "../model/position.ts";
import { createAnonymousId } from "./anonymous-id.ts";
import { isDevelopment, warnIfUnset, warnInDevelopment } from "./environment.ts";
import {
  createEventSender,
  type TrackBatchResult,
  type TrackItem,
  type TrackOptions,
  type TrackResult,
} from "./events.ts";
import { type ControlledFlagValues, createFlagValues, type FlagValues, isBootstrap } from "./flag-values.ts";
import type { ClientSeam, FlagsBody, SeamStore } from "./seam.ts";
import type { Transport } from "./transport.ts";

/** The options of `featureFlagsClient()`. */
export type FeatureFlagsClientOptions<Flags extends FlagDeclarations = FlagDeclarations> = {
  /** The flags declared with `defineFlags`. They type keys, values and variants. Default: any key, `JsonValue`. */
  flags?: Flags | undefined;
  /** The flags the page was rendered with, from `createServerFlags().bootstrap()`. Reads use them without a request. */
  bootstrap?: FlagsBootstrap | undefined;
  /** Attributes of the visitor for rules, such as `{ attributes: { plan: "pro" } }`. The session adds the user's fields. */
  context?: ClaimedContext | undefined;
  /** The environment to evaluate in, such as `"beta"`. */
  environment?: string | undefined;
  /**
   * The id of an anonymous visitor, for flags with `bucketBy: "anonymousId"`. `true` (default in a page): a random id in
   * a first-party cookie, for one year. A string: your own id. `false`: no id.
   */
  anonymousId?: boolean | string | undefined;
  /** Reports which flags were read, for statistics. Default `true`. */
  exposures?: boolean | undefined;
  /** How long a read waits for the server, in ms. Default 5,000. */
  timeoutMs?: number | undefined;
  /**
   * Keeps the runtime alive until events and exposures are sent: `waitUntil` of `cloudflare:workers`. On Workers,
   * exposures are reported only with this option.
   */
  waitUntil?: ((work: Promise<unknown>) => void) | undefined;
};

/** Reads never throw and never reject. They return the default if the server does not respond. */
export interface FeatureFlagsActions<Flags extends FlagDeclarations = FlagDeclarations> {
  /** Whether a boolean flag is on. Default for a flag that does not exist: `false`. */
  isEnabled(key: BooleanFlagKey<Flags>, defaultValue?: boolean): Promise<boolean>;
  /** The flag's value. The default applies if the flag does not exist or is not loaded. */
  getValue<Key extends FlagKey<Flags>>(key: Key): Promise<ReadValue<Flags, Key>>;
  getValue<Key extends FlagKey<Flags>>(
    key: Key,
    defaultValue: FlagValue<Flags, Key>,
  ): Promise<FlagValue<Flags, Key>>;
  /** The key of the variant, or null if the flag has none. */
  getVariant<Key extends FlagKey<Flags>>(key: Key): Promise<VariantKey<Flags, Key> | null>;
  /** Fetches all flags and returns their values by key. Later reads use these values. */
  bootstrap(): Promise<FlagValueMap<Flags>>;
  /** @deprecated Use `bootstrap`. */
  getAllFlags(): Promise<FlagValueMap<Flags>>;

  /** Sends an event. Resolves with `success: false` if the server does not accept it; never rejects. */
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
  /** Sends up to 1,000 events in one request. A batch that is repeated with its `batchId` counts once. */
  trackBatch(
    items: readonly (TrackItem & { flag: FlagKey<Flags> })[],
    batchId?: string,
  ): Promise<TrackBatchResult>;

  /** Overrides a flag in this client only. Works only if `NODE_ENV` is `development` or `test`. */
  setOverride<Key extends FlagKey<Flags>>(flag: Key, value: FlagValue<Flags, Key>): void;
  /** Removes the override of one flag. */
  clearOverride(flag: FlagKey<Flags>): void;
  /** Removes all overrides of `setOverride`. */
  clearOverrides(): void;

  /** Changes the context and discards the values of the previous one. */
  setContext(context: ClaimedContext | undefined): void;
  /** The flag values, for framework bindings. */
  values(): FlagValues;
}

export interface ActionsControl<Flags extends FlagDeclarations> extends ClientSeam {
  readonly actions: FeatureFlagsActions<Flags>;
  /** The signed-in user or the organization may have changed. */
  changeIdentity(): void;
  /** The user has signed out: the next visitor gets a new anonymous id. */
  signOut(): void;
  /** The same user is signed in, but attributes of the user may have changed. */
  refresh(): void;
  /** Compares the session that was just read with the previous one. */
  seeSession(userId: string | undefined, organizationId: string | undefined): void;
}

const BOOTSTRAP_PATH = "/feature-flags/bootstrap";
const DEFAULT_TIMEOUT_MS = 5_000;
/** Better Auth signals a sign-in twice within this time. */
const ECHO_MS = 1_000;

export function createActions<Flags extends FlagDeclarations>(
  transport: Transport,
  options: FeatureFlagsClientOptions<Flags>,
): ActionsControl<Flags> {
  const { environment, anonymousId = true, timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  const declared: FlagDeclarations = options.flags ?? {};
  const now = (): number => performance.now();
  const visitor = createAnonymousId();
  let { context } = options;
  let changedAtMs = Number.NEGATIVE_INFINITY;
  let organization: { readonly id: string | undefined } | undefined;

  function currentContext(): ClaimedContext | undefined {
    const id = typeof anonymousId === "string" ? anonymousId : anonymousId ? visitor.read() : undefined;
    return id === undefined ? context : { anonymousId: id, ...context };
  }

  function bodyOf(position: FlagsPosition): FlagsBody {
    const claimed = currentContext();
    const body = {
      // Without disabled flags, a read could not distinguish a disabled flag from one that does not exist.
      includeDisabled: true,
      select: ["value", "variant", "reason"],
      position,
      ...(options.exposures !== false && { exposures: true }),
      ...(claimed && { context: claimed }),
      ...(environment !== undefined && { environment }),
    };
    return body;
  }

  async function fetchFlags(position: FlagsPosition): Promise<FlagsBootstrap | undefined> {
    const body = bodyOf(position);
    const { data, error } = await transport.request<FlagsBootstrap>(BOOTSTRAP_PATH, { body, timeoutMs });
    if (error === null && isBootstrap(data)) return data;
    warnInDevelopment(`Flags could not be fetched: ${error?.message ?? "invalid response"}`);
    return undefined;
  }

  const values: ControlledFlagValues = createFlagValues({
    fetchFlags,
    timeoutMs,
    declared,
    now,
  });
  const events = createEventSender(transport, { ...options, contextOf: currentContext });

  function changeIdentity(): void {
    changedAtMs = now();
    organization = undefined;
    // An anonymous visitor who signs in is the same person, so their waiting events stay.
    const owner = values.owner();
    events.reset(owner === undefined || owner.userId !== undefined);
    values.changeOwner();
  }

  function expose(key: string): void {
    const state = values.read(key);
    if (options.exposures !== false && state !== undefined && !values.isOverridden(key))
      events.expose(key, state, values.token(key));
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
    // Before the first request, because the server evaluated the page's flags for this id.
    if (anonymousId === true && rendered !== undefined) visitor.keep(rendered);
    values.hydrate(bootstrap);
  }
  if (options.bootstrap !== undefined) hydrate(options.bootstrap);

  const view: FlagValues & SeamStore = { ...values, hydrate, expose };

  const actions = {
    async isEnabled(key: string, defaultValue?: boolean): Promise<boolean> {
      const state = await read(key);
      if (typeof state?.value === "boolean") return state.value;
      if (state !== undefined) {
        warnInDevelopment(`isEnabled("${key}"): the flag is not boolean. Use getValue.`);
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
      if (isDevelopment()) return values.override(flag, value);
      warnIfUnset("setOverride had no effect, because NODE_ENV is not set. Set it to development or test.");
    },
    clearOverride: values.clearOverride,
    clearOverrides: values.clearOverrides,
    setContext(next: ClaimedContext | undefined): void {
      context = next;
      events.reset(false);
      values.reset();
    },
    values: () => view,
  };

  const control: ActionsControl<Flags> = {
    // The implementation uses string keys; the declared flags only narrow the types.
    actions: actions as unknown as FeatureFlagsActions<Flags>,
    values,
    declared,
    transport,
    bodyOf,
    changeIdentity,
    signOut() {
      if (anonymousId === true) visitor.renew();
      changeIdentity();
    },
    refresh() {
      if (now() - changedAtMs > ECHO_MS) values.invalidate();
    },
    seeSession(userId, organizationId) {
      const owner = values.owner();
      const isOther = owner !== undefined && owner.userId !== (context?.userId ?? userId);
      // Before the first read of the session, the page's bootstrap names the organization.
      const rendered = context?.organizationId === undefined ? owner?.organizationId : undefined;
      const before = organization ? organization.id : (rendered ?? organizationId);
      if (isOther || before !== organizationId) changeIdentity();
      organization = { id: organizationId };
    },
  };
  // Better Auth's client hides all its objects behind proxies, but not what functions return.
  view.$flags = control;
  return control;
}
