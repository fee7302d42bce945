/** The workload: 100 flags for 10,000 users, in random pairs that are the same in every run. */

export interface User {
  readonly id: string;
  readonly plan: string;
  readonly country: string;
  readonly loginCount: number;
}

/** Every flag is on for half of `plan in [pro, enterprise] AND (country = US OR loginCount > 100)`. */
export const PLANS: readonly string[] = ["pro", "enterprise"];
export const COUNTRY = "US";
export const LOGINS = 100;
export const SHARE = 50;

const USERS = 10_000;
const PAIRS = 1 << 16;

/** An engine with its flags. Returns whether the flag is on for the user, both by index. */
export interface Engine {
  readonly keys: readonly string[];
  isOn(flag: number, user: number): boolean | Promise<boolean>;
  /** Evaluations per call of `isOn`. Default: 1. */
  readonly evaluationsPerCall?: number;
  /** Further figures about the engine, for its line in the report. */
  readonly facts?: Readonly<Record<string, number>>;
}

let state = 12_345;

/** From 0 (inclusive) to 1 (exclusive). */
export function random(): number {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return state / 2 ** 32;
}

function pick(items: readonly string[]): string {
  return items[Math.floor(random() * items.length)] ?? "";
}

export function keysOf(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `feature-flag-${index}`);
}

export const keys: readonly string[] = keysOf(100);

export const users: readonly User[] = Array.from({ length: USERS }, (_, index) => ({
  id: `user-${index}-${Math.floor(random() * 1e9).toString(36)}`,
  plan: pick(["free", "pro", "enterprise"]),
  country: pick(["US", "CA", "GB", "DE"]),
  loginCount: Math.floor(random() * 200),
}));

export interface Pairs {
  readonly flags: Uint16Array;
  readonly users: Uint16Array;
}

export function pairsOf(flags: number): Pairs {
  return {
    flags: Uint16Array.from({ length: PAIRS }, () => random() * flags),
    users: Uint16Array.from({ length: PAIRS }, () => random() * USERS),
  };
}
