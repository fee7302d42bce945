/** Limits how many credentials of one address are looked up in the database, so that guessed keys cost little. */
import type { LookupGuard } from "@halyard/sessions/plugin";
import { murmur3 } from "../../engine/murmur.ts";
import type { Meter } from "../metrics/meter.ts";
import type { LimitPrincipal, LimitRule, Limits } from "./limits.ts";

export interface Lookups {
  /** The guard of one request. `isMonitoring`: the request has no other limit, so each of its lookups is counted. */
  guard(address: () => LimitPrincipal, isMonitoring: boolean): LookupGuard;
}

/** Hashes in each of the two generations of `Verified`. */
const MAX_GENERATION = 10_000;

export function createLookups(limits: Limits, meter: Pick<Meter, "limited">): Lookups {
  const verified = new Verified();

  function refuse(rule: LimitRule, seconds: number): number {
    meter.limited(rule);
    return seconds;
  }

  return {
    guard: (address, isMonitoring) => ({
      async secondsToWait(cacheKey) {
        const principal = address();
        if (!verified.has(cacheKey)) {
          const verdict = limits.peek("credentials", principal);
          if (!verdict.allowed) return refuse("credentials", verdict.retryAfterSeconds);
        }
        if (!isMonitoring) return undefined;
        const verdict = await limits.consume("monitoring", principal);
        return verdict.allowed ? undefined : refuse("monitoring", verdict.retryAfterSeconds);
      },
      async report(cacheKey, isValid) {
        if (isValid) {
          verified.add(cacheKey);
          return;
        }
        verified.remove(cacheKey);
        await limits.consume("credentials", address());
      },
    }),
  };
}

/**
 * Credentials that were valid. They are looked up even if another caller of the address guesses keys. Keeps hashes of 32
 * bits, to bound the memory. A collision costs one lookup.
 */
class Verified {
  #current = new Set<number>();
  #previous = new Set<number>();

  has(cacheKey: string | undefined): boolean {
    if (cacheKey === undefined) return false;
    const hash = murmur3(cacheKey);
    return this.#current.has(hash) || this.#previous.has(hash);
  }

  add(cacheKey: string | undefined): void {
    if (cacheKey === undefined) return;
    if (this.#current.size >= MAX_GENERATION) {
      this.#previous = this.#current;
      this.#current = new Set();
    }
    this.#current.add(murmur3(cacheKey));
  }

  remove(cacheKey: string | undefined): void {
    if (cacheKey === undefined) return;
    const hash = murmur3(cacheKey);
    this.#current.delete(hash);
    this.#previous.delete(hash);
  }
}
