/** How many upgrades a server takes on: connections in all, new ones per second, and those still being judged. */

export interface UpgradeLimits {
  /** How many upgrades may wait for `authenticate`; more are refused with 503. Default 1,000. */
  readonly maxPendingUpgrades?: number;
  /** How many connections there may be; more are closed with 1013 and told to come back later. Default: no limit. */
  readonly maxConnections?: number;
  /** How many upgrades a second are judged; more are closed with 1013 and told to come back later. Default: no limit. */
  readonly maxUpgradesPerSecond?: number;
}

/** Why an upgrade is refused: too many are being judged, or there is no room now but will be in a while. */
export type Refusal =
  | { readonly kind: "pending" }
  | { readonly kind: "later"; readonly retryAfterMs: number };

const DEFAULT_MAX_PENDING_UPGRADES = 1_000;
const SHORTEST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;
/** Where no rate is set, so many are taken to come back in a second. */
const USUAL_RATE = 1_000;

export class UpgradeGate {
  readonly #limits: Required<UpgradeLimits>;
  readonly #connections: () => number;
  readonly #now: () => number;
  readonly #random: () => number;
  #pending = 0;
  #tokens: number;
  #filledAt: number;
  /** Refused since the second that began at this time. */
  #refused = 0;
  #refusedFrom: number;

  /** `now` is monotonic, in ms; `random` gives numbers from 0 up to 1. */
  constructor(
    limits: UpgradeLimits,
    connections: () => number,
    now: () => number = () => performance.now(),
    random: () => number = Math.random,
  ) {
    this.#limits = {
      maxPendingUpgrades: positive(
        "maxPendingUpgrades",
        limits.maxPendingUpgrades ?? DEFAULT_MAX_PENDING_UPGRADES,
      ),
      maxConnections: positive("maxConnections", limits.maxConnections ?? Number.POSITIVE_INFINITY),
      maxUpgradesPerSecond: positive(
        "maxUpgradesPerSecond",
        limits.maxUpgradesPerSecond ?? Number.POSITIVE_INFINITY,
      ),
    };
    this.#connections = connections;
    this.#now = now;
    this.#random = random;
    this.#tokens = this.#limits.maxUpgradesPerSecond;
    this.#filledAt = now();
    this.#refusedFrom = this.#filledAt;
  }

  /** Takes on an upgrade, to be followed by `leave`; or says why not. */
  enter(): Refusal | undefined {
    const { maxPendingUpgrades, maxConnections } = this.#limits;
    if (this.#pending >= maxPendingUpgrades) return { kind: "pending" };
    if (this.#connections() + this.#pending >= maxConnections || !this.#takeToken()) return this.#later();
    this.#pending++;
    return undefined;
  }

  /** The upgrade was judged. */
  leave(): void {
    this.#pending--;
  }

  #takeToken(): boolean {
    const { maxUpgradesPerSecond } = this.#limits;
    if (maxUpgradesPerSecond === Number.POSITIVE_INFINITY) return true;
    const now = this.#now();
    const filled = ((now - this.#filledAt) * maxUpgradesPerSecond) / 1_000;
    this.#tokens = Math.min(Math.max(1, maxUpgradesPerSecond), this.#tokens + filled);
    this.#filledAt = now;
    if (this.#tokens < 1) return false;
    this.#tokens--;
    return true;
  }

  /** The more are refused, the longer the time over which they are spread. */
  #later(): Refusal {
    const now = this.#now();
    if (now - this.#refusedFrom >= 1_000) {
      this.#refused = 0;
      this.#refusedFrom = now;
    }
    this.#refused++;
    const rate = Math.min(this.#limits.maxUpgradesPerSecond, USUAL_RATE);
    const spreadMs = Math.min((this.#refused * 1_000) / rate, LONGEST_WAIT_MS - SHORTEST_WAIT_MS);
    return { kind: "later", retryAfterMs: Math.floor(SHORTEST_WAIT_MS + this.#random() * spreadMs) };
  }
}

function positive(name: string, value: number): number {
  if (value > 0) return value;
  throw new TypeError(`The option ${name} is ${String(value)}; it takes a number above 0.`);
}
