/** What the service counts about itself, for metrics; statistics of flags are elsewhere. */
import type { EvaluationReason } from "../engine/definition.ts";

/** What can be lost without failing a request; each loss is counted and said. */
export type Loss = "exposure" | "evaluation-count" | "sink-event";

/** What became of events that callers sent. Sampled-out and repeated ones are accepted. */
export type EventFate = "accepted" | "refused";

export interface Meter {
  /** On the hot path: one addition. */
  evaluated(reason: EvaluationReason): void;
  /** A request over HTTP. `operation` is a name of `ROUTES`. */
  answered(operation: string, status: number, durationMs: number): void;
  limited(rule: string): void;
  /** Events of a request, when it is answered. */
  received(fate: EventFate, count: number): void;
  /** An attempt to give a sink some events. */
  delivered(sink: string, outcome: DeliveryOutcome, events: number): void;
  lost(what: Loss, count: number): void;
  /**
   * A figure that is asked for when metrics are read. `name` is in snake case with its unit at the end, as in
   * `snapshot_age_seconds`; one that is given again with the same labels replaces the first. Labels are names from the
   * host's configuration, never data.
   */
  observe(name: string, help: string, read: () => number, labels?: Labels): void;
}

export type DeliveryOutcome = "delivered" | "failed";

export type Labels = Readonly<Record<string, string>>;

/** How long requests with one operation and status took. */
export interface DurationFigures {
  readonly operation: string;
  readonly status: number;
  readonly count: number;
  readonly sumMs: number;
  /** Requests that took at most as long as the bound at the same place of `DURATION_BOUNDS_MS`, and longer than the one before. */
  readonly buckets: readonly number[];
}

export interface Gauge {
  readonly name: string;
  readonly help: string;
  readonly labels: Labels;
  /** NaN when it cannot be read. */
  read(): number;
}

export interface SinkFigures {
  readonly deliveries: Readonly<Record<DeliveryOutcome, number>>;
  /** Events that were delivered. */
  readonly events: number;
}

/** All figures at one moment; counts are since the start. */
export interface Figures {
  readonly evaluations: Readonly<Record<EvaluationReason, number>>;
  readonly events: Readonly<Record<EventFate, number>>;
  readonly losses: Readonly<Record<Loss, number>>;
  /** By rule. */
  readonly limited: ReadonlyMap<string, number>;
  readonly durations: readonly DurationFigures[];
  /** By name. */
  readonly sinks: ReadonlyMap<string, SinkFigures>;
  readonly gauges: readonly Gauge[];
}

/** Whoever must be told as it happens: what it is told is counted all the same. */
export interface MeterListener {
  answered(operation: string, status: number, durationMs: number): void;
  /** Of each gauge, those that were there before included. */
  observed(gauge: Gauge): void;
}

export interface ReadableMeter extends Meter {
  figures(): Figures;
  /** Replaces the listener; undefined for none. */
  listen(listener: MeterListener | undefined): void;
}

export interface MeterOptions {
  readonly warn: (message: string) => void;
  /** Monotonic. */
  readonly monotonicMs?: (() => number) | undefined;
}

/** From a cache hit to the longest a request may wait for the database. */
export const DURATION_BOUNDS_MS: readonly number[] = [
  0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 50, 100, 250, 500, 1000, 2500, 10_000,
];

const SAY_EVERY_MS = 60_000;

const LOST: Readonly<Record<Loss, string>> = {
  exposure: "exposures could not be recorded",
  "evaluation-count": "evaluations could not be counted in the statistics",
  "sink-event": "events could not be delivered to a sink and are given up",
};

interface Durations {
  count: number;
  sumMs: number;
  readonly buckets: number[];
}

export function createMeter({ warn, monotonicMs = () => performance.now() }: MeterOptions): ReadableMeter {
  const evaluations: Record<EvaluationReason, number> = {
    rule_match: 0,
    override: 0,
    percentage_rollout: 0,
    default: 0,
    disabled: 0,
    not_found: 0,
  };
  const events: Record<EventFate, number> = { accepted: 0, refused: 0 };
  const losses: Record<Loss, number> = { exposure: 0, "evaluation-count": 0, "sink-event": 0 };
  const limited = new Map<string, number>();
  /** By operation, then by status; both are names of ours, so there are only so many. */
  const durations = new Map<string, Map<number, Durations>>();
  const sinks = new Map<string, { deliveries: Record<DeliveryOutcome, number>; events: number }>();
  const gauges = new Map<string, Gauge>();
  const readers = new Map<string, () => number>();
  const said = new Map<Loss, { readonly atMs: number; readonly total: number }>();
  let listener: MeterListener | undefined;

  function durationsOf(operation: string, status: number): Durations {
    let byStatus = durations.get(operation);
    if (byStatus === undefined) {
      byStatus = new Map();
      durations.set(operation, byStatus);
    }
    let found = byStatus.get(status);
    if (found === undefined) {
      found = { count: 0, sumMs: 0, buckets: DURATION_BOUNDS_MS.map(() => 0) };
      byStatus.set(status, found);
    }
    return found;
  }

  return {
    evaluated(reason) {
      evaluations[reason] += 1;
    },
    answered(operation, status, durationMs) {
      const figures = durationsOf(operation, status);
      figures.count += 1;
      figures.sumMs += durationMs;
      const bucket = DURATION_BOUNDS_MS.findIndex((boundMs) => durationMs <= boundMs);
      if (bucket !== -1) figures.buckets[bucket] = (figures.buckets[bucket] ?? 0) + 1;
      listener?.answered(operation, status, durationMs);
    },
    limited(rule) {
      limited.set(rule, (limited.get(rule) ?? 0) + 1);
    },
    received(fate, count) {
      events[fate] += count;
    },
    delivered(sink, outcome, count) {
      const figures = sinks.get(sink) ?? { deliveries: { delivered: 0, failed: 0 }, events: 0 };
      sinks.set(sink, figures);
      figures.deliveries[outcome] += 1;
      if (outcome === "delivered") figures.events += count;
    },
    lost(what, count) {
      if (count <= 0) return;
      losses[what] += count;
      const last = said.get(what);
      const nowMs = monotonicMs();
      if (last !== undefined && nowMs - last.atMs < SAY_EVERY_MS) return;
      const total = losses[what];
      said.set(what, { atMs: nowMs, total });
      warn(`${total - (last?.total ?? 0)} ${LOST[what]}; ${total} since the start.`);
    },
    observe(name, help, read, labels = {}) {
      const key = JSON.stringify([name, labels]);
      readers.set(key, read);
      if (gauges.has(key)) return;
      const gauge = { name, help, labels, read: () => readSafely(readers.get(key)) };
      gauges.set(key, gauge);
      listener?.observed(gauge);
    },
    listen(next) {
      listener = next;
      for (const gauge of gauges.values()) next?.observed(gauge);
    },
    figures: () => ({
      evaluations: { ...evaluations },
      events: { ...events },
      losses: { ...losses },
      limited: new Map(limited),
      durations: [...durations].flatMap(([operation, byStatus]) =>
        [...byStatus].map(([status, { count, sumMs, buckets }]) => ({
          operation,
          status,
          count,
          sumMs,
          buckets: [...buckets],
        })),
      ),
      sinks: new Map([...sinks].map(([name, figures]) => [name, structuredClone(figures)])),
      gauges: [...gauges.values()],
    }),
  };
}

/** One figure that fails must not take the others with it. */
function readSafely(read: (() => number) | undefined): number {
  try {
    return read?.() ?? Number.NaN;
  } catch {
    return Number.NaN;
  }
}
