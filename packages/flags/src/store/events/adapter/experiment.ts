/**
 * Counts exposures by arm, and events by the arm that they are credited to. Users are counted exactly up to a number; above
 * it with an error of about 1 %, by counting only users with a hash in the lower half, then in the lower quarter, and so on.
 */
import { murmur3 } from "../../../engine/murmur.ts";
import type { ArmFigures, EventFigures, FlagFigures } from "../event-log.ts";
import { DAY_MS } from "../hour.ts";
import { DistinctCounter } from "./distinct.ts";
import type { FirstExposure } from "./subjects.ts";

/** Users that are kept in memory. */
const MAX_KEPT = 65_536;

/** Counts are kept in millionths. */
const MILLION = 1_000_000;
/** The largest magnitude of a sum, in whole units. */
const MAX_SUM = 8e15;

/** An exposure in the window. */
export interface ShownArm {
  readonly who: string;
  readonly arm: string;
  readonly byChance: boolean;
  readonly atMs: number;
}

export interface CreditedEvent {
  /** The subject. Undefined if it is not known, and if the sender cannot be one. */
  readonly who: string | undefined;
  /** The subject's first exposure. */
  readonly first: FirstExposure | undefined;
  readonly name: string;
  readonly value: number | undefined;
  readonly weight: number;
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
  readonly converters: DistinctCounter;
}

interface Arms {
  readonly exposures: Map<string, Map<string, Days>>;
  readonly events: Map<string, Map<string, EventSums>>;
}

export class Experiment {
  readonly #maxKept: number;
  readonly #users = new Set<string>();
  readonly #byChance: Arms = { exposures: new Map(), events: new Map() };
  readonly #excluded: Arms = { exposures: new Map(), events: new Map() };
  #halvings = 0;

  constructor(maxKept: number = MAX_KEPT) {
    this.#maxKept = maxKept;
  }

  /** Call it in the order of hours. */
  expose({ who, arm, byChance, atMs }: ShownArm): void {
    if (!this.#isKept(who)) return;
    this.#users.add(who);
    const { exposures } = byChance ? this.#byChance : this.#excluded;
    const users = getOrMake(exposures, arm, () => new Map<string, Days>());
    const days = getOrMake(users, who, () => ({ last: -1, count: 0 }));
    const day = Math.floor(atMs / DAY_MS);
    if (day !== days.last) days.count += 1;
    days.last = day;
    while (this.#users.size > this.#maxKept && this.#halvings < 31) this.#halve();
  }

  credit({ who, first, name, value, weight }: CreditedEvent): void {
    const { events } = first?.byChance === false ? this.#excluded : this.#byChance;
    const named = getOrMake(events, first?.arm ?? "", () => new Map<string, EventSums>());
    const sums = getOrMake(named, name, () => ({
      count: 0,
      valued: 0,
      units: 0,
      millionths: 0,
      converters: new DistinctCounter(this.#maxKept),
    }));
    sums.count += Math.round(weight * MILLION);
    if (who !== undefined) sums.converters.add(who);
    if (value === undefined) return;
    sums.valued += Math.round(weight * MILLION);
    const amount = Math.min(Math.max(value * weight, -MAX_SUM), MAX_SUM);
    const units = Math.trunc(amount);
    sums.units = Math.min(Math.max(sums.units + units, -MAX_SUM), MAX_SUM);
    sums.millionths += Math.round((amount - units) * MILLION);
  }

  figures(): Pick<FlagFigures, "uniqueUsers" | "exposures" | "events" | "excluded"> {
    return {
      uniqueUsers: this.#users.size * this.#scale(),
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
    for (const who of this.#users) if (!this.#isKept(who)) this.#users.delete(who);
    for (const { exposures } of [this.#byChance, this.#excluded]) {
      for (const [arm, users] of exposures) {
        for (const who of users.keys()) if (!this.#isKept(who)) users.delete(who);
        if (users.size === 0) exposures.delete(arm);
      }
    }
  }
}

function getOrMake<Value>(map: Map<string, Value>, key: string, make: () => Value): Value {
  const existing = map.get(key);
  if (existing !== undefined) return existing;
  const value = make();
  map.set(key, value);
  return value;
}
