/** Counts requests, evaluations, events and losses for the metrics of this process. */
import type { EvaluationReason, TrustedRoot } from "../../engine/definition.ts";
import { WARNING_INTERVAL_MS } from "./rarely.ts";

/** Data that can be lost without failing a request. Every loss is counted and logged. */
export type Loss = "exposure" | "identity-link" | "evaluation-count" | "sink-event";

/** The outcome of events that callers sent. Sampled-out and repeated events count as accepted. */
export type EventFate = "accepted" | "refused";

export interface Meter {
  /** Runs for every evaluation, so it must stay one addition. */
  evaluated(reason: EvaluationReason): void;
  /** Records a response over HTTP. `operation` is a name in `ROUTES`. */
  answered(operation: string, status: number, durationMs: number): void;
  limited(rule: string): void;
  /** Records the events of a request when it is answered. */
  received(fate: EventFate, count: number): void;
  /** Records an attempt to deliver events to a sink. */
  delivered(sink: string, outcome: DeliveryOutcome, events: number): void;
  lost(what: Loss, count: number): void;
  /** Records a call of `trusted.compute`. */
  computed(outcome: ComputeOutcome): void;
  /** Records that the values of a trusted root could not be read for an evaluation request. */
  unreadable(root: TrustedRoot): void;
  /**
   * Registers a gauge that is read when metrics are read. `name` is in snake case and ends with the unit, as in
   * `snapshot_age_seconds`. Registering the same name and labels again replaces the gauge. Label values come from the
   * host's configuration, never from callers.
   */
  observe(name: string, help: string, read: () => number, labels?: Labels): void;
}

export type DeliveryOutcome = "delivered" | "failed";

export type ComputeOutcome = "computed" | "failed" | "timeout";

export type Labels = Readonly<Record<string, string>>;

/** The durations of requests with one operation and status. */
export interface DurationFigures {
  readonly operation: string;
  readonly status: number;
  readonly count: number;
  readonly sumMs: number;
  /** Requests per bucket. Each bucket's upper bound is at the same index of `DURATION_BOUNDS_MS`. */
  readonly buckets: readonly number[];
}

export interface Gauge {
  readonly name: string;
  readonly help: string;
  readonly labels: Labels;
  /** NaN if it cannot be read. */
  read(): number;
}

export interface SinkFigures {
  readonly deliveries: Readonly<Record<DeliveryOutcome, number>>;
  /** Number of delivered events. */
  readonly events: number;
}

/** All metrics at one point in time. Counts are since the start of the process. */
export interface Figures {
  readonly evaluations: Readonly<Record<EvaluationReason, number>>;
  readonly events: Readonly<Record<EventFate, number>>;
  readonly losses: Readonly<Record<Loss, number>>;
  /** Calls of `trusted.compute`. */
  readonly computations: Readonly<Record<ComputeOutcome, number>>;
  /** Requests for which a trusted root could not be read. */
  readonly unreadable: Readonly<Record<TrustedRoot, number>>;
  /** By rule. */
  readonly limited: ReadonlyMap<string, number>;
  readonly durations: readonly DurationFigures[];
  /** By name. */
  readonly sinks: ReadonlyMap<string, SinkFigures>;
  readonly gauges: readonly Gauge[];
}

/** Is notified immediately of responses and gauges, which are also counted. */
export interface MeterListener {
  answered(operation: string, status: number, durationMs: number): void;
  /** Called for each gauge, including those registered before the listener. */
  observed(gauge: Gauge): void;
}

export interface ReadableMeter extends Meter {
  figures(): Figures;
  /** Replaces the listener; undefined for none. */
  listen(listener: MeterListener | undefined): void;
}

export interface MeterOptions {
  readonly warn: (message: string) => void;
  /** Monotonic clock, in ms. */
  readonly monotonicMs?: (() => number) | undefined;
}

/** From a cached evaluation to the longest wait for the database. */
export const DURATION_BOUNDS_MS: readonly number[] = [
  0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 50, 100, 250, 500, 1000, 2500, 10_000,
];

const LOST: Readonly<Record<Loss, string>> = {
  exposure: "exposures could not be recorded",
  "identity-link": "sign-ins could not be linked to the events before them",
  "evaluation-count": "evaluations could not be counted in the statistics",
  "sink-event": "events could not be delivered to a sink and were dropped",
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
  const losses: Record<Loss, number> = {
    exposure: 0,
    "identity-link": 0,
    "evaluation-count": 0,
    "sink-event": 0,
  };
  const computations: Record<ComputeOutcome, number> = { computed: 0, failed: 0, timeout: 0 };
  const unreadable: Record<TrustedRoot, number> = { user: 0, session: 0, organization: 0, trusted: 0 };
  const limited = new Map<string, number>();
  /** By operation, then by status. Both are fixed sets, so the map is bounded. */
  const durations = new Map<string, Map<number, Durations>>();
  const sinks = new Map<string, { deliveries: Record<DeliveryOutcome, number>; events: number }>();
  const gauges = new Map<string, Gauge>();
  const readers = new Map<string, () => number>();
  const warned = new Map<Loss, { readonly atMs: number; readonly total: number }>();
  let listener: MeterListener | undefined;

  function durationsOf(operation: string, status: number): Durations {
    let byStatus = durations.get(operation);
    if (byStatus === undefined) {
      byStatus = new Map();
      durations.set(operation, byStatus);
    }
    let figures = byStatus.get(status);
    if (figures === undefined) {
      figures = { count: 0, sumMs: 0, buckets: DURATION_BOUNDS_MS.map(() => 0) };
      byStatus.set(status, figures);
    }
    return figures;
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
      const last = warned.get(what);
      const nowMs = monotonicMs();
      if (last !== undefined && nowMs - last.atMs < WARNING_INTERVAL_MS) return;
      const total = losses[what];
      warned.set(what, { atMs: nowMs, total });
      warn(`${total - (last?.total ?? 0)} ${LOST[what]}; ${total} since the start.`);
    },
    computed(outcome) {
      computations[outcome] += 1;
    },
    unreadable(root) {
      unreadable[root] += 1;
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
      computations: { ...computations },
      unreadable: { ...unreadable },
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

/** A gauge that throws must not break the other metrics. */
function readSafely(read: (() => number) | undefined): number {
  try {
    return read?.() ?? Number.NaN;
  } catch {
    return Number.NaN;
  }
}
