/** Holds the flag values of one client: fetches them once, caches them and notifies listeners of changes. */
import type { FlagState, FlagsBootstrap } from "../model/bootstrap.ts";
import {
  type FlagDeclaration,
  type FlagDeclarations,
  fitsDeclaration,
  type JsonValue,
} from "../model/declared.ts";
import { type FlagsPosition, isOlder, NO_POSITION } from "../model/position.ts";
import { areRequestsIsolated, isDevelopment, later, pause, warnInDevelopment } from "./environment.ts";
import { callListener } from "./listener.ts";

/**
 * `loading`: no values yet. `ready`: the values of the last response. `stale`: the last request failed, reads return
 * the values of an earlier response. `error`: no request has succeeded, reads return defaults.
 */
export type FlagsStatus = "loading" | "ready" | "stale" | "error";

/** Gets the keys whose value, variant or reason changed; no keys if only the status or the user changed. */
export type FlagsListener = (changed: readonly string[]) => void;

/** The flags at one point in time. */
export interface FlagsReading {
  /** Undefined if the flag does not exist, is not loaded, or has a value that does not fit its declaration. */
  read(key: string): FlagState | undefined;
  /** All values by key. Returns the same object until a value changes. */
  all(): Readonly<Record<string, JsonValue>>;
  /** Whether the values are loaded, and whether they are current. */
  status(): FlagsStatus;
}

/** The interface for framework bindings such as the React hooks. */
export interface FlagValues extends FlagsReading {
  /** Only the flags of this bootstrap, without the client's own values: a server's client may serve many visitors. */
  rendered(bootstrap: FlagsBootstrap | undefined): FlagsReading;
  /** The declared default. */
  fallback(key: string): JsonValue | undefined;
  /** Calls the listener on changes. While there are listeners, the client fetches values without a read. */
  subscribe(listener: FlagsListener): () => void;
  /** Resolves when values are loaded, or when the request failed. Never rejects. */
  ready(): Promise<void>;
  /** Uses the flags the page was rendered with, unless newer values are loaded. Uses each object once. */
  hydrate(bootstrap: FlagsBootstrap): void;
  /** Marks the values as outdated: the next read fetches again, or immediately if there are listeners. */
  invalidate(): void;
  /** Reports once that the flag's value was shown to the user. */
  expose(key: string): void;
}

export interface ControlledFlagValues extends Omit<FlagValues, "expose"> {
  /** Whether the flag has a local override. */
  isOverridden(key: string): boolean;
  /** The flag as the server evaluated it, without a local override. */
  evaluated(key: string): FlagState | undefined;
  /** The token with which the flag's exposure is reported; undefined if the flag has none. */
  token(key: string): string | undefined;
  /** Like `subscribe`, but never makes the client fetch. There is one such listener; undefined removes it. */
  watch(listener: FlagsListener | undefined): void;
  /** Fetches values even if some are loaded. Never rejects. */
  fetch(): Promise<void>;
  /** Pushed values have the time `~sequence~time`, which is later than that of every page. Now they have their own. */
  settle(): void;
  /** Discards all values and the responses of requests in flight. */
  reset(): void;
  /** The signed-in user changed: like `reset`, but values of an anonymous visitor stay until the next response. */
  changeOwner(): void;
  /** The user the values were evaluated for; undefined if unknown. */
  owner(): FlagsOwner | undefined;
  override(key: string, value: JsonValue): void;
  clearOverride(key: string): void;
  clearOverrides(): void;
}

export type FlagsOwner = NonNullable<FlagsBootstrap["context"]>;

export interface FlagValuesOptions {
  /** Fetches flags that are not older than the position. Resolves to undefined if the request failed. */
  readonly fetchFlags: (seen: FlagsPosition) => Promise<FlagsBootstrap | undefined>;
  /** Timeout of `fetchFlags`, in ms. */
  readonly timeoutMs: number;
  readonly declared: FlagDeclarations;
  /** Monotonic, in ms. */
  readonly now: () => number;
}

const FIRST_RETRY_MS = 1_000;
const LAST_RETRY_MS = 30_000;

export function createFlagValues(options: FlagValuesOptions): ControlledFlagValues {
  const { fetchFlags, timeoutMs, declared, now } = options;
  const listeners = new Set<FlagsListener>();
  let watcher: FlagsListener | undefined;
  const overrides = new Map<string, FlagState>();
  const hydrated = new WeakSet<FlagsBootstrap>();
  let current: ReadonlyMap<string, FlagState> | undefined;
  let tokens: FlagsBootstrap["exposures"];
  /** Time of the newest values so far. Older values may belong to another user. */
  let evaluatedAt = "";
  let owner: FlagsOwner | undefined;
  /** The newest revisions that the client has seen, also for an earlier user. */
  let seen: FlagsPosition = NO_POSITION;
  /** Whether the values belong to an anonymous visitor who has signed in since. */
  let isKept = false;
  /** Cached result of `all`, cleared when a value changes. */
  let allValues: Readonly<Record<string, JsonValue>> | undefined;
  /** Whether reads may use the values without a request. */
  let isConfirmed = false;
  /** Whether only a response may confirm the values: a page may have been rendered before the change. */
  let needsResponse = false;
  let failures = 0;
  let retryAtMs = 0;
  let isRetrying = false;
  /** Incremented when the user changes. Responses to requests of an earlier generation are discarded. */
  let generation = 0;
  /** Numbers of the last request sent, and of the newest one answered. */
  let lastSent = 0;
  let lastAnswered = 0;
  /** Responses up to this request may be out of date. */
  let lastDoubted = 0;
  let loading: Promise<void> | undefined;

  function status(): FlagsStatus {
    if (current === undefined) return failures > 0 ? "error" : "loading";
    return failures > 0 ? "stale" : "ready";
  }

  function notify(changed: readonly string[]): void {
    if (changed.length > 0) allValues = undefined;
    for (const listener of [...listeners]) callListener(listener, changed);
    watcher?.(changed);
  }

  /** Returns the keys that changed. Unchanged states keep their object identity. */
  function accept(bootstrap: FlagsBootstrap): string[] {
    const before = current ?? new Map<string, FlagState>();
    const states = new Map<string, FlagState>();
    const changed: string[] = [];
    for (const [key, state] of statesOf(bootstrap, declared)) {
      const old = before.get(key);
      const merged = old === undefined ? state : keepEqual(old, state);
      states.set(key, merged);
      if (merged !== old) changed.push(key);
    }
    for (const key of before.keys()) if (!states.has(key)) changed.push(key);
    current = states;
    tokens = bootstrap.exposures;
    evaluatedAt = bootstrap.evaluatedAt;
    owner = bootstrap.context;
    const position = positionOf(bootstrap);
    if (!isOlder(position, seen)) seen = position;
    isKept = false;
    failures = 0;
    return changed;
  }

  function fail(): void {
    failures += 1;
    const delayMs = Math.min(FIRST_RETRY_MS * 2 ** (failures - 1), LAST_RETRY_MS);
    retryAtMs = now() + delayMs;
    if (isRetrying) return;
    isRetrying = true;
    retryIn(delayMs);
  }

  function retryIn(delayMs: number): void {
    later(() => {
      const restMs = failures === 0 ? 0 : retryAtMs - now();
      // Another request failed since, or the timer fired early.
      if (restMs > 0) return retryIn(restMs);
      isRetrying = false;
      if (listeners.size > 0) void ready();
    }, delayMs);
  }

  /** Whether these flags are older than the values in memory, which belong to the same user. */
  function isBehind(bootstrap: FlagsBootstrap): boolean {
    return current !== undefined && !isKept && isOlder(positionOf(bootstrap), seen);
  }

  /** A page may supply none. */
  function positionOf({ position }: FlagsBootstrap): FlagsPosition {
    return typeof position === "string" ? position : seen;
  }

  async function request(): Promise<void> {
    const [mine, number, statusBefore, wasKept] = [generation, ++lastSent, status(), isKept];
    const sent = seen;
    const bootstrap = await fetchFlags(sent);
    if (mine !== generation || number < lastAnswered) return;
    let changed: readonly string[] = [];
    const wasChecked = bootstrap?.stale !== true;
    // The server compares its database with the position it was sent. Older flags then come from a restored database.
    if (bootstrap && wasChecked && isOlder(positionOf(bootstrap), sent)) seen = positionOf(bootstrap);
    if (bootstrap === undefined || (!wasChecked && isBehind(bootstrap))) {
      fail();
    } else if (isBehind(bootstrap)) {
      // Another response arrived first and was newer than the position that this request sent.
      return;
    } else {
      changed = accept(bootstrap);
      lastAnswered = number;
      isConfirmed = number > lastDoubted;
      needsResponse = !isConfirmed;
    }
    if (changed.length > 0 || status() !== statusBefore || isKept !== wasKept) notify(changed);
  }

  function fetch(): Promise<void> {
    const mine = request().finally(() => {
      if (loading === mine) loading = undefined;
    });
    loading = mine;
    return mine;
  }

  /** Waits for another read's request. With isolated requests it may never settle, so the timeout bounds the wait. */
  async function join(theirs: Promise<void>): Promise<void> {
    if (!areRequestsIsolated) return theirs;
    await Promise.race([theirs, pause(timeoutMs)]);
    if (loading === theirs) loading = undefined;
  }

  async function ready(): Promise<void> {
    while (!isConfirmed && (failures === 0 || now() >= retryAtMs)) await (loading ? join(loading) : fetch());
  }

  function hydrate(bootstrap: FlagsBootstrap): void {
    if (!isBootstrap(bootstrap) || hydrated.has(bootstrap)) return;
    hydrated.add(bootstrap);
    if (bootstrap.evaluatedAt <= evaluatedAt || isBehind(bootstrap)) return;
    const changed = accept(bootstrap);
    isConfirmed = !needsResponse;
    notify(changed);
  }

  function drop(keeps: boolean): void {
    const changed = keeps ? [] : [...(current?.keys() ?? [])];
    const statusBefore = status();
    generation += 1;
    loading = undefined;
    isConfirmed = false;
    needsResponse = true;
    failures = 0;
    isKept = keeps;
    if (!keeps) {
      current = tokens = owner = undefined;
    }
    if (!keeps || status() !== statusBefore) notify(changed);
    if (listeners.size > 0) void ready();
  }

  const isOverridden = (key: string): boolean => overrides.has(key) && isDevelopment();

  return {
    read: (key) => (isOverridden(key) ? overrides.get(key) : current?.get(key)),
    fallback: (key) => (Object.hasOwn(declared, key) ? declared[key]?.default : undefined),
    all: () => (allValues ??= valuesOf([...(current ?? []), ...(isDevelopment() ? overrides : [])])),
    rendered(bootstrap) {
      const isGiven = isBootstrap(bootstrap);
      const states = new Map(isGiven ? statesOf(bootstrap, declared) : []);
      const all = valuesOf(states);
      return {
        read: (key) => states.get(key),
        all: () => all,
        status: () => (isGiven ? "ready" : "loading"),
      };
    },
    status,
    subscribe(listener) {
      listeners.add(listener);
      void ready();
      return () => void listeners.delete(listener);
    },
    watch(listener) {
      watcher = listener;
    },
    ready,
    hydrate,
    isOverridden,
    evaluated: (key) => current?.get(key),
    token: (key) => (tokens && Object.hasOwn(tokens, key) ? tokens[key] : undefined),
    fetch,
    invalidate() {
      lastDoubted = lastSent;
      isConfirmed = false;
      needsResponse = true;
      if (listeners.size > 0) void ready();
    },
    settle() {
      evaluatedAt = evaluatedAt?.replace(/.*~/, "");
    },
    reset: () => drop(false),
    // Values of an anonymous visitor reveal nothing about another user.
    changeOwner: () => drop(!!owner && owner.userId === undefined),
    owner: () => (isKept ? undefined : owner),
    override(key, value) {
      overrides.set(key, { value });
      notify([key]);
    },
    clearOverride(key) {
      if (overrides.delete(key)) notify([key]);
    },
    clearOverrides() {
      const changed = [...overrides.keys()];
      overrides.clear();
      notify(changed);
    },
  };
}

/** Pages and proxies may supply any JSON. An invalid bootstrap must not make a read fail. */
export function isBootstrap(given: FlagsBootstrap | null | undefined): given is FlagsBootstrap {
  return typeof given?.flags === "object" && given.flags !== null;
}

function* statesOf({ flags }: FlagsBootstrap, declared: FlagDeclarations): Generator<[string, FlagState]> {
  for (const [key, given] of Object.entries<FlagState | null>(flags)) {
    if (given?.value === undefined) continue;
    const state = asDeclared(key, given, Object.hasOwn(declared, key) ? declared[key] : undefined);
    if (state) yield [key, state];
  }
}

function asDeclared(
  key: string,
  state: FlagState,
  declaration: FlagDeclaration | undefined,
): FlagState | undefined {
  if (declaration === undefined) return state;
  if (!fitsDeclaration(declaration, state.value)) {
    warnInDevelopment(`The value of flag "${key}" is not as declared; reads return the default.`);
    return undefined;
  }
  const { variant, ...others } = state;
  if (variant === undefined || declaration.variants?.includes(variant) !== false) return state;
  warnInDevelopment(`Variant "${variant}" of flag "${key}" is not declared; reads return none.`);
  return others;
}

/** `Object.fromEntries`, because assignment to `__proto__` would set the prototype. */
function valuesOf(states: Iterable<[string, FlagState]>): Readonly<Record<string, JsonValue>> {
  return Object.fromEntries([...states].map(([key, { value }]) => [key, value]));
}

/** Returns the old state if it equals the new one, else the new state with the old value if the values are equal. */
function keepEqual(old: FlagState, state: FlagState): FlagState {
  if (JSON.stringify(old.value) !== JSON.stringify(state.value)) return state;
  if (old.variant === state.variant && old.reason === state.reason) return old;
  return { ...state, value: old.value };
}
