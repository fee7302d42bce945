/** The values of all flags as one client knows them: asked for once, kept, and told to whoever listens. */
import type { FlagState, FlagsBootstrap } from "../model/bootstrap.ts";
import {
  type FlagDeclaration,
  type FlagDeclarations,
  fitsDeclaration,
  type JsonValue,
} from "../model/declared.ts";
import { areRequestsIsolated, isDevelopment, later, pause, warnInDevelopment } from "./environment.ts";

/**
 * `loading`: nothing is known yet. `ready`: values are the server's last word. `stale`: the server could not be asked
 * again, the last known values are given. `error`: it could not be asked at all, so reads give defaults.
 */
export type FlagsStatus = "loading" | "ready" | "stale" | "error";

/** Gets the keys whose values, variants or reasons are others now; none when only the status, or whose they are, is. */
export type FlagsListener = (changed: readonly string[]) => void;

/** What is known of the flags at one time. */
export interface FlagsReading {
  /** Undefined for a flag that does not exist, or of which nothing is known, or whose value is not as declared. */
  read(key: string): FlagState | undefined;
  /** All values by their keys; the same object until one of them changes. */
  all(): Readonly<Record<string, JsonValue>>;
  status(): FlagsStatus;
}

/** What bindings to a framework are built on. */
export interface FlagValues extends FlagsReading {
  /** What a page was rendered with, or nothing, apart from all that this client knows: it may serve many visitors. */
  rendered(bootstrap: FlagsBootstrap | undefined): FlagsReading;
  /** The declared default. */
  fallback(key: string): JsonValue | undefined;
  /** While anybody listens, values are fetched without being asked for. */
  subscribe(listener: FlagsListener): () => void;
  /** Waits until there are values, or none to be had for now. Never rejects. */
  ready(): Promise<void>;
  /** Takes what the server rendered a page with, unless something newer is known. Each object is taken once. */
  hydrate(bootstrap: FlagsBootstrap): void;
  /** Values may have changed: the next read asks again, and at once if anybody listens. */
  invalidate(): void;
  /** Reports, once, that the flag's value was shown to somebody. */
  expose(key: string): void;
}

export interface ControlledFlagValues extends Omit<FlagValues, "expose"> {
  /** Whether a value of this flag was set locally. */
  isOverridden(key: string): boolean;
  /** Asks the server, whatever is known. Never rejects. */
  fetch(): Promise<void>;
  /** They are another's now: nothing that was known, or is on its way, is given to anybody. */
  reset(): void;
  /** Somebody else is signed in: as `reset`, but what a visitor saw who had not signed in stays until there is more. */
  changeOwner(): void;
  /** Whom the values are for: undefined where that is not known. */
  owner(): FlagsOwner | undefined;
  override(key: string, value: JsonValue): void;
  clearOverrides(): void;
}

export type FlagsOwner = NonNullable<FlagsBootstrap["context"]>;

export interface FlagValuesOptions {
  /** Undefined: no answer. */
  readonly fetchFlags: () => Promise<FlagsBootstrap | undefined>;
  /** How long that may take. */
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
  const overrides = new Map<string, FlagState>();
  const taken = new WeakSet<FlagsBootstrap>();
  let known: ReadonlyMap<string, FlagState> | undefined;
  /** Of the newest values ever taken; older ones may be another's. */
  let evaluatedAt: string | undefined;
  let owner: FlagsOwner | undefined;
  /** Whether the values are those of a visitor who has signed in since. */
  let isKept = false;
  /** The values by key, until one changes. */
  let everything: Readonly<Record<string, JsonValue>> | undefined;
  /** Whether reads may do without asking the server. */
  let isConfirmed = false;
  /** Whether only the server can say what is true now: a page may have been rendered before that was so. */
  let isDoubtful = false;
  let failures = 0;
  let retryAtMs = 0;
  let isRetrying = false;
  /** Counts whom the values were for: an answer to another's question is thrown away. */
  let generation = 0;
  let asked = 0;
  let answered = 0;
  /** An answer to this question, or to one before it, may be out of date. */
  let doubted = 0;
  let loading: Promise<void> | undefined;

  function status(): FlagsStatus {
    if (known === undefined) return failures > 0 ? "error" : "loading";
    return failures > 0 ? "stale" : "ready";
  }

  function tell(changed: readonly string[]): void {
    if (changed.length > 0) everything = undefined;
    for (const listener of [...listeners]) listener(changed);
  }

  /** Gives the keys that changed. What did not change stays the same object. */
  function accept(bootstrap: FlagsBootstrap): string[] {
    const before = known ?? new Map<string, FlagState>();
    const states = new Map<string, FlagState>();
    const changed: string[] = [];
    for (const [key, state] of statesOf(bootstrap, declared)) {
      const old = before.get(key);
      const kept = old === undefined ? state : keepEqual(old, state);
      states.set(key, kept);
      if (kept !== old) changed.push(key);
    }
    for (const key of before.keys()) if (!states.has(key)) changed.push(key);
    known = states;
    evaluatedAt = bootstrap.evaluatedAt;
    owner = bootstrap.context;
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
      // It failed again meanwhile, or the timer was early.
      if (restMs > 0) return retryIn(restMs);
      isRetrying = false;
      if (listeners.size > 0) void ready();
    }, delayMs);
  }

  async function ask(): Promise<void> {
    const [mine, question, statusBefore, wasKept] = [generation, ++asked, status(), isKept];
    const answer = await fetchFlags();
    if (mine !== generation || question < answered) return;
    let changed: readonly string[] = [];
    if (answer === undefined) {
      fail();
    } else {
      changed = accept(answer);
      answered = question;
      isConfirmed = question > doubted;
      isDoubtful = !isConfirmed;
    }
    if (changed.length > 0 || status() !== statusBefore || isKept !== wasKept) tell(changed);
  }

  function fetch(): Promise<void> {
    const mine = ask().finally(() => {
      if (loading === mine) loading = undefined;
    });
    loading = mine;
    return mine;
  }

  /** Waits for what another read has begun; where that may have ended with its request, no longer than it may take. */
  async function join(theirs: Promise<void>): Promise<void> {
    if (!areRequestsIsolated) return theirs;
    await Promise.race([theirs, pause(timeoutMs)]);
    if (loading === theirs) loading = undefined;
  }

  async function ready(): Promise<void> {
    while (!isConfirmed && (failures === 0 || now() >= retryAtMs)) await (loading ? join(loading) : fetch());
  }

  function hydrate(bootstrap: FlagsBootstrap): void {
    if (!isBootstrap(bootstrap) || taken.has(bootstrap)) return;
    taken.add(bootstrap);
    if (evaluatedAt !== undefined && bootstrap.evaluatedAt <= evaluatedAt) return;
    const changed = accept(bootstrap);
    isConfirmed = !isDoubtful;
    tell(changed);
  }

  function drop(keeps: boolean): void {
    const changed = keeps ? [] : [...(known?.keys() ?? [])];
    const statusBefore = status();
    generation += 1;
    loading = undefined;
    isConfirmed = false;
    isDoubtful = true;
    failures = 0;
    isKept = keeps;
    if (!keeps) {
      known = undefined;
      owner = undefined;
    }
    if (!keeps || status() !== statusBefore) tell(changed);
    if (listeners.size > 0) void ready();
  }

  const isOverridden = (key: string): boolean => overrides.has(key) && isDevelopment();

  return {
    read: (key) => (isOverridden(key) ? overrides.get(key) : known?.get(key)),
    fallback: (key) => (Object.hasOwn(declared, key) ? declared[key]?.default : undefined),
    all() {
      everything ??= valuesOf([...(known ?? []), ...(isDevelopment() ? overrides : [])]);
      return everything;
    },
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
    ready,
    hydrate,
    isOverridden,
    fetch,
    invalidate() {
      doubted = asked;
      isConfirmed = false;
      isDoubtful = true;
      if (listeners.size > 0) void ready();
    },
    reset: () => drop(false),
    // What a visitor saw who had not signed in is nobody else's.
    changeOwner: () => drop(owner !== undefined && owner.userId === undefined),
    owner: () => (isKept ? undefined : owner),
    override(key, value) {
      overrides.set(key, { value });
      tell([key]);
    },
    clearOverrides() {
      const changed = [...overrides.keys()];
      overrides.clear();
      tell(changed);
    },
  };
}

/** Pages and proxies hand over anything; what is no bootstrap must not end a read. */
export function isBootstrap(given: FlagsBootstrap | null | undefined): given is FlagsBootstrap {
  return typeof given?.flags === "object" && given.flags !== null;
}

function* statesOf({ flags }: FlagsBootstrap, declared: FlagDeclarations): Generator<[string, FlagState]> {
  for (const [key, given] of Object.entries<FlagState | null>(flags)) {
    if (given?.value === undefined) continue;
    const state = asDeclared(key, given, Object.hasOwn(declared, key) ? declared[key] : undefined);
    if (state !== undefined) yield [key, state];
  }
}

function asDeclared(
  key: string,
  state: FlagState,
  declaration: FlagDeclaration | undefined,
): FlagState | undefined {
  if (declaration === undefined) return state;
  if (!fitsDeclaration(declaration, state.value)) {
    warnInDevelopment(
      `${key} has a value that is not as declared (${declaration.type}). Reads give defaults.`,
    );
    return undefined;
  }
  const { variant, ...others } = state;
  if (variant === undefined || declaration.variants?.includes(variant) !== false) return state;
  warnInDevelopment(`${key} has the variant ${variant}, which is not declared. Reads give none.`);
  return others;
}

/** Not an object literal: `__proto__` is a key like any other. */
function valuesOf(states: Iterable<[string, FlagState]>): Readonly<Record<string, JsonValue>> {
  return Object.fromEntries([...states].map(([key, { value }]) => [key, value]));
}

/** The old state, or at least the old value, where the new one is equal to it. */
function keepEqual(old: FlagState, state: FlagState): FlagState {
  if (JSON.stringify(old.value) !== JSON.stringify(state.value)) return state;
  if (old.variant === state.variant && old.reason === state.reason) return old;
  return { ...state, value: old.value };
}
