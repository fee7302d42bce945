/** Limits upgrades: connections in total, upgrades per second, and upgrades being authenticated. */
import { type Bucket, bucketAt } from "../time/bucket.ts";

/** How many upgrades and connections a server accepts. */
export interface UpgradeLimits {
  /** The most upgrades that wait for `authenticate`; further ones get status 503. Default 1,000. */
  readonly maxPendingUpgrades?: number;
  /** The most connections; further ones are closed with 1013 and a retry delay. Default: no limit. */
  readonly maxConnections?: number;
  /** The most upgrades per second; further ones are closed with 1013 and a retry delay. Default: no limit. */
  readonly maxUpgradesPerSecond?: number;
}

/** Why an upgrade is refused. `pending`: too many are being authenticated. `later`: a limit is reached, retry after the delay. */
export type Refusal =
  | { readonly kind: "pending" }
  | { readonly kind: "later"; readonly retryAfterMs: number };

const DEFAULT_MAX_PENDING_UPGRADES = 1_000;
const MIN_RETRY_MS = 1_000;
const MAX_RETRY_MS = 30_000;
/** Assumed reconnections per second when `maxUpgradesPerSecond` is not set. */
const DEFAULT_RATE = 1_000;

export class UpgradeGate {
  readonly #limits: Required<UpgradeLimits>;
  readonly #connections: () => number;
  readonly #now: () => number;
  readonly #random: () => number;
  #pending = 0;
  #bucket: Bucket;
  /** Upgrades refused in the current second, which began at `#refusedFrom`. */
  #refused = 0;
  #refusedFrom: number;

  /** `now` is monotonic, in ms; `random` returns numbers from 0 up to 1. */
  constructor(
    limits: UpgradeLimits,
    connections: () => number,
    now: () => number = () => performance.now(),
    random: () => number = Math.random,
  ) {
    this.#limits = {
      maxPendingUpgrades: limits.maxPendingUpgrades ?? DEFAULT_MAX_PENDING_UPGRADES,
      maxConnections: limits.maxConnections ?? Number.POSITIVE_INFINITY,
      maxUpgradesPerSecond: limits.maxUpgradesPerSecond ?? Number.POSITIVE_INFINITY,
    };
    for (const [name, value] of Object.entries(this.#limits)) checkPositive(name, value);
    this.#connections = connections;
    this.#now = now;
    this.#random = random;
    this.#refusedFrom = now();
    this.#bucket = { tokens: this.#limits.maxUpgradesPerSecond, filledAt: this.#refusedFrom };
  }

  /** Admits an upgrade, and `leave` must follow; or returns the refusal. */
  enter(): Refusal | undefined {
    const { maxPendingUpgrades, maxConnections } = this.#limits;
    if (this.#pending >= maxPendingUpgrades) return { kind: "pending" };
    if (this.#connections() + this.#pending >= maxConnections || !this.#takeToken()) return this.#later();
    this.#pending++;
    return undefined;
  }

  /** The authentication of the upgrade is complete. */
  leave(): void {
    this.#pending--;
  }

  #takeToken(): boolean {
    const { maxUpgradesPerSecond: tokensPerSecond } = this.#limits;
    if (tokensPerSecond === Number.POSITIVE_INFINITY) return true;
    const size = { capacity: Math.max(1, tokensPerSecond), tokensPerSecond };
    this.#bucket = bucketAt(this.#bucket, size, this.#now());
    if (this.#bucket.tokens < 1) return false;
    this.#bucket.tokens--;
    return true;
  }

  /** The more upgrades are refused, the longer the time over which their retries are spread. */
  #later(): Refusal {
    const now = this.#now();
    if (now - this.#refusedFrom >= 1_000) {
      this.#refused = 0;
      this.#refusedFrom = now;
    }
    this.#refused++;
    const rate = Math.min(this.#limits.maxUpgradesPerSecond, DEFAULT_RATE);
    const spreadMs = Math.min((this.#refused * 1_000) / rate, MAX_RETRY_MS - MIN_RETRY_MS);
    return { kind: "later", retryAfterMs: Math.floor(MIN_RETRY_MS + this.#random() * spreadMs) };
  }
}

function checkPositive(name: string, value: number): void {
  if (value > 0) return;
  throw new TypeError(`The option ${name} is ${String(value)}, but it must be a number above 0.`);
}
