/**
 * Counts exposures by arm, and credits events to the arm of their subject's first exposure. Exact up to a number of users;
 * above it with an error of about 1 %, by counting only users with a hash in the lower half, then in the lower quarter, and
 * so on.
 */
import { murmur3 } from "../../../engine/murmur.ts";
import type { ArmFigures, EventFigures, FlagFigures } from "../event-log.ts";
import { DAY_MS } from "../hour.ts";
import { DistinctCounter } from "./distinct.ts";

/** Users that are kept in memory. */
const MAX_KEPT = 65_536;

/** Counts are kept in millionths. */
const MILLION = 1_000_000;
/** The largest magnitude of a sum, in whole units. */
const MAX_SUM = 8e15;

/** An exposure in the window. */
export interface ShownArm {
  readonly who: string;
  /** Whether it is the user's own exposure by the flag's unit, to which events can be credited. */
  readonly isSubject: boolean;
  readonly arm: string;
  readonly byChance: boolean;
  /** The first time in the window. */
  readonly atMs: number;
}

export interface CreditedEvent {
  /** The subject. Undefined if it is not known, and if the sender cannot be one. */
  readonly who: string | undefined;
  readonly name: string;
  readonly value: number | undefined;
  readonly weight: number;
}

interface First {
  readonly arm: string;
  readonly byChance: boolean;
  readonly atMs: number;
}

/** The exposures of one user to one arm: the last day that was counted, and the number of days. */
interface Days {
  last: number;
  count: number;
}

/** Counts in millionths; sums in whole units and millionths, so that no precision is lost. */
interface EventSums {
  count: number;
  valued: number;
  units: number;
  millionths: number;
  /** Has a limit of its own: users without an exposure are not among the kept ones. */
  readonly converters: DistinctCounter;
}

interface Arms {
  readonly exposures: Map<string, Map<string, Days>>;
  readonly events: Map<string, Map<string, EventSums>>;
}

export class Experiment {
  readonly #maxKept: number;
  /** All users. Undefined for those without an exposure to which events can be credited. */
  readonly #first = new Map<string, First | undefined>();
  readonly #byChance: Arms = { exposures: new Map(), events: new Map() };
  readonly #excluded: Arms = { exposures: new Map(), events: new Map() };
  #halvings = 0;

  constructor(maxKept: number = MAX_KEPT) {
    this.#maxKept = maxKept;
  }

  /** Call it in the order of hours, and before all events. */
  expose({ who, isSubject, arm, byChance, atMs }: ShownArm): void {
    if (!this.#isKept(who)) return;
    const known = this.#first.get(who);
    const shown: First | undefined = isSubject ? { arm, byChance, atMs } : undefined;
    this.#first.set(who, known === undefined || (shown && isEarlier(shown, known)) ? shown : known);
    const { exposures } = byChance ? this.#byChance : this.#excluded;
    const users = getOrMake(exposures, arm, () => new Map<string, Days>());
    const days = getOrMake(users, who, () => ({ last: -1, count: 0 }));
    const day = Math.floor(atMs / DAY_MS);
    if (day !== days.last) days.count += 1;
    days.last = day;
    while (this.#first.size > this.#maxKept && this.#halvings < 31) this.#halve();
  }

  credit({ who, name, value, weight }: CreditedEvent): void {
    if (who !== undefined && !this.#isKept(who)) return;
    const first = who === undefined ? undefined : this.#first.get(who);
    const { events } = first?.byChance === false ? this.#excluded : this.#byChance;
    const named = getOrMake(events, first?.arm ?? "", () => new Map<string, EventSums>());
    const sums = getOrMake(named, name, () => ({
      count: 0,
      valued: 0,
      units: 0,
      millionths: 0,
      converters: new DistinctCounter(this.#maxKept, this.#halvings),
    }));
    // Events of unknown subjects are all counted.
    const scaled = who === undefined ? weight : weight * this.#scale();
    sums.count += Math.round(scaled * MILLION);
    if (who !== undefined) sums.converters.add(who);
    if (value === undefined) return;
    sums.valued += Math.round(scaled * MILLION);
    const amount = Math.min(Math.max(value * scaled, -MAX_SUM), MAX_SUM);
    const units = Math.trunc(amount);
    sums.units = Math.min(Math.max(sums.units + units, -MAX_SUM), MAX_SUM);
    sums.millionths += Math.round((amount - units) * MILLION);
  }

  figures(): Pick<FlagFigures, "uniqueUsers" | "exposures" | "events" | "excluded"> {
    return {
      uniqueUsers: this.#first.size * this.#scale(),
      ...this.#armsOf(this.#byChance),
      excluded: this.#armsOf(this.#excluded),
    };
  }

  #armsOf({ exposures, events }: Arms): ArmFigures {
    return {
      exposures: new Map(
        Array.from(exposures, ([arm, users]) => {
          const count = [...users.values()].reduce((sum, days) => sum + days.count, 0);
          return [arm, { exposures: count * this.#scale(), uniqueUsers: users.size * this.#scale() }];
        }),
      ),
      events: new Map(
        Array.from(events, ([arm, named]) => [
          arm,
          new Map(Array.from(named, ([name, sums]) => [name, this.#eventFigures(sums)])),
        ]),
      ),
    };
  }

  #eventFigures({ count, valued, units, millionths, converters }: EventSums): EventFigures {
    return {
      count: count / MILLION,
      valued: valued / MILLION,
      sum: units + millionths / MILLION,
      converters: converters.count(),
    };
  }

  #scale(): number {
    return 2 ** this.#halvings;
  }

  #isKept(who: string): boolean {
    return this.#halvings === 0 || murmur3(who) < 2 ** (32 - this.#halvings);
  }

  #halve(): void {
    this.#halvings += 1;
    for (const who of this.#first.keys()) if (!this.#isKept(who)) this.#first.delete(who);
    for (const { exposures } of [this.#byChance, this.#excluded]) {
      for (const [arm, users] of exposures) {
        for (const who of users.keys()) if (!this.#isKept(who)) users.delete(who);
        if (users.size === 0) exposures.delete(arm);
      }
    }
  }
}

/** In the same millisecond, an exposure by chance comes first. */
function isEarlier(one: First, other: First): boolean {
  if (one.atMs !== other.atMs) return one.atMs < other.atMs;
  return one.byChance === other.byChance ? one.arm < other.arm : one.byChance;
}

function getOrMake<Value>(map: Map<string, Value>, key: string, make: () => Value): Value {
  const existing = map.get(key);
  if (existing !== undefined) return existing;
  const value = make();
  map.set(key, value);
  return value;
}
