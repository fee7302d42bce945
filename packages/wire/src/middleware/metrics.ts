/** Figures of a router's servers: kept here, read as Prometheus text, and given to OpenTelemetry where that is wanted. */
import { ERROR_CODES } from "../protocol/error.ts";
import { createCounters, type ServerCounters } from "../router/counters.ts";
import type { Metrics, ObservedBus, ServerFigures } from "../router/metrics.ts";
import type { Figure, Sample } from "./figure.ts";
import { Histogram } from "./histogram.ts";
import { exportTo, loadMeter } from "./metrics-export.ts";
import { CONTENT_TYPE, type Family, toText } from "./prometheus.ts";

export interface MetricsOptions {
  /** Also give every figure to the globally registered meter of `@opentelemetry/api`. Default false. */
  readonly openTelemetry?: boolean;
}

/** Types of requests are few unless somebody makes them up; the rest is counted together. */
const MAX_TYPES = 1_000;
const OUTCOMES = new Set(["ok", "SUPPRESSED", "DISCONNECTED", ...Object.keys(ERROR_CODES)]);
const RPC_DURATION = "halyard.wire.rpc.duration";
const RPC_HELP = "Time from the arrival of a request to its answer";

export class ServerMetrics implements Metrics {
  /** Of what `toPrometheus` gives. */
  readonly contentType: string = CONTENT_TYPE;
  readonly #servers = new Set<ServerFigures>();
  readonly #pubsubs = new Set<ObservedBus>();
  /** Of servers that have ended. */
  readonly #past: ServerCounters = createCounters();
  readonly #closed = new Map<number, number>();
  readonly #requests = new Map<string, Map<string, Histogram>>();
  #record: ((seconds: number, attributes: Record<string, string>) => void) | undefined;

  constructor({ openTelemetry = false }: MetricsOptions = {}) {
    if (openTelemetry) void this.#export();
  }

  observe(server: ServerFigures, pubsub: ObservedBus | undefined): () => void {
    this.#servers.add(server);
    if (pubsub !== undefined) this.#pubsubs.add(pubsub);
    return () => {
      if (!this.#servers.delete(server)) return;
      for (const name of keysOf(this.#past)) this.#past[name] += server.counters[name];
    };
  }

  answered(type: string, durationMs: number, outcome: string): void {
    const seconds = durationMs / 1_000;
    // Codes of the application's own are many, or none.
    const known = OUTCOMES.has(outcome) ? outcome : "OTHER";
    this.#histogram(type, known).record(seconds);
    this.#record?.(seconds, { type, outcome: known });
  }

  closed(code: number): void {
    this.#closed.set(code, (this.#closed.get(code) ?? 0) + 1);
  }

  /** All figures as the text that Prometheus scrapes. */
  toPrometheus(): string {
    const families = this.#figures().map(({ name, help, type, read }): Family => {
      const promName = name.replaceAll(".", "_") + (type === "counter" ? "_total" : "");
      return { name: promName, help, type, samples: read() };
    });
    return toText([...families, this.#latency()]);
  }

  #histogram(type: string, outcome: string): Histogram {
    const name = this.#requests.has(type) || this.#requests.size < MAX_TYPES ? type : "(other)";
    const outcomes = this.#requests.get(name) ?? new Map<string, Histogram>();
    this.#requests.set(name, outcomes);
    const histogram = outcomes.get(outcome) ?? new Histogram();
    outcomes.set(outcome, histogram);
    return histogram;
  }

  #figures(): readonly Figure[] {
    const gauge = (name: string, help: string, read: (server: ServerFigures) => number): Figure => ({
      name: `halyard.wire.${name}`,
      help,
      type: "gauge",
      read: () => [{ value: [...this.#servers].reduce((sum, server) => sum + read(server), 0) }],
    });
    const counter = (name: string, help: string, read: () => readonly Sample[]): Figure => ({
      name: `halyard.wire.${name}`,
      help,
      type: "counter",
      read,
    });
    const total = (name: keyof ServerCounters): number =>
      [...this.#servers].reduce((sum, { counters }) => sum + counters[name], this.#past[name]);
    return [
      gauge("connections", "Open connections", ({ connections }) => connections),
      gauge("topics", "Topics with a subscriber on this process", ({ topics }) => topics),
      gauge("buffered_bytes", "Bytes that peers have not taken yet", ({ bufferedBytes }) => bufferedBytes),
      counter("closed", "Connections closed, by code", () =>
        [...this.#closed].map(([code, value]) => ({ labels: { code: String(code) }, value })),
      ),
      counter("refused_upgrades", "Upgrades refused because there was no room for them", () => [
        { value: total("refusedUpgrades") },
      ]),
      counter("shed", "Published frames that a slow peer did not get", () => [{ value: total("shed") }]),
      counter("gaps", "How often peers were told that they missed something, by reason", () => [
        { labels: { reason: "shed" }, value: total("shedGaps") },
        { labels: { reason: "bus" }, value: total("busGaps") },
      ]),
      counter("dropped_progress", "Progress frames that a slow peer did not get", () => [
        { value: total("droppedProgress") },
      ]),
      counter("over_budget", "Connections closed because the process ran out of buffer space", () => [
        { value: total("overBudget") },
      ]),
      {
        name: "halyard.wire.bus.connected",
        help: "Whether the broker between the processes is reached: 1 or 0",
        type: "gauge",
        read: () => this.#buses().map(({ connected }) => ({ value: connected ? 1 : 0 })),
      },
      counter("bus.refused", "Messages on the bus that were not ours, too large, or no frames", () =>
        this.#buses().map(({ refused }) => ({ value: refused })),
      ),
    ];
  }

  /** Of one broker, or of all of them together. */
  #buses(): readonly { readonly connected: boolean; readonly refused: number }[] {
    const known = [...this.#pubsubs].flatMap(({ status }) => (status === undefined ? [] : [status]));
    if (known.length === 0) return [];
    const refused = known.reduce((sum, status) => sum + status.refused, 0);
    return [{ connected: known.every(({ connected }) => connected), refused }];
  }

  #latency(): Family {
    const samples: Sample[] = [];
    for (const [type, outcomes] of this.#requests) {
      for (const [outcome, histogram] of outcomes) {
        const labels = { type, outcome };
        for (const { bound, count } of histogram.cumulative)
          samples.push({ suffix: "_bucket", labels: { ...labels, le: bound }, value: count });
        samples.push({ suffix: "_sum", labels, value: histogram.sum });
        samples.push({ suffix: "_count", labels, value: histogram.cumulative.at(-1)?.count ?? 0 });
      }
    }
    return { name: "halyard_wire_rpc_duration_seconds", help: RPC_HELP, type: "histogram", samples };
  }

  async #export(): Promise<void> {
    const meter = await loadMeter();
    if (meter === undefined) return;
    exportTo(meter, this.#figures());
    const duration = meter.createHistogram(RPC_DURATION, { unit: "s", description: RPC_HELP });
    this.#record = (seconds, { type = "", outcome = "" }) =>
      duration.record(seconds, { "halyard.wire.type": type, "halyard.wire.outcome": outcome });
  }
}

function keysOf(counters: ServerCounters): (keyof ServerCounters)[] {
  return Object.keys(counters) as (keyof ServerCounters)[];
}

/**
 * Keeps figures of every server of the routers it is given to: connections, topics, unsent bytes, what was shed or
 * missed, how connections ended, how long requests took.
 *
 * @example
 * ```ts
 * import { createRouter } from "@halyard/wire";
 * import { createMetrics } from "@halyard/wire/middleware";
 * import { serve } from "@halyard/wire/node";
 *
 * const metrics = createMetrics();
 * const router = createRouter({ metrics });
 * await serve(router, { metricsPath: "/metrics", healthPath: "/health" });
 * ```
 */
export function createMetrics(options?: MetricsOptions): ServerMetrics {
  return new ServerMetrics(options);
}
