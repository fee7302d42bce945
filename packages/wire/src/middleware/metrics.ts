/** Metrics of a router's servers, as Prometheus text and, optionally, in OpenTelemetry. */
import { ERROR_CODES } from "../protocol/error.ts";
import { createCounters, type ServerCounters } from "../router/server/counters.ts";
import type { Metrics, ObservedBus, ServerFigures } from "../router/server/metrics.ts";
import type { Figure, Sample } from "./figure.ts";
import { Histogram } from "./histogram.ts";
import { exportTo, loadMeter } from "./metrics-export.ts";
import { CONTENT_TYPE, type Family, toText } from "./prometheus.ts";

/** The options of `createMetrics()`. */
export interface MetricsOptions {
  /** Also export every metric to the globally registered meter of `@opentelemetry/api`. Default false. */
  readonly openTelemetry?: boolean;
}

/** Above this many request types, the others are counted together as `(other)`. */
const MAX_TYPES = 1_000;
const OUTCOMES = new Set(["ok", "SUPPRESSED", "DISCONNECTED", ...Object.keys(ERROR_CODES)]);
const RPC_DURATION = "halyard.wire.rpc.duration";
const RPC_HELP = "Time from the arrival of a request to its response";

/** Created by `createMetrics()`; given to routers as the option `metrics`. */
export class ServerMetrics implements Metrics {
  /** The content type of `toPrometheus()`. */
  readonly contentType: string = CONTENT_TYPE;
  readonly #servers = new Set<ServerFigures>();
  readonly #pubsubs = new Set<ObservedBus>();
  /** The sums of servers that have stopped. */
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
    // The application may have any number of its own codes, so they share one label.
    const label = OUTCOMES.has(outcome) ? outcome : "OTHER";
    this.#histogram(type, label).record(seconds);
    this.#record?.(seconds, { type, outcome: label });
  }

  closed(code: number): void {
    this.#closed.set(code, (this.#closed.get(code) ?? 0) + 1);
  }

  /** All metrics as text for a Prometheus scrape. */
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
    const totals = (name: string, help: string, of: keyof ServerCounters): Figure =>
      counter(name, help, () => [{ value: total(of) }]);
    return [
      gauge("connections", "Open connections", ({ connections }) => connections),
      gauge("topics", "Topics with a subscriber on this process", ({ topics }) => topics),
      gauge(
        "buffered_bytes",
        "Bytes accepted for peers that are not sent yet",
        ({ bufferedBytes }) => bufferedBytes,
      ),
      gauge(
        "inbound_bytes",
        "Bytes of messages from peers that wait or are being handled",
        ({ inboundBytes }) => inboundBytes,
      ),
      counter("closed", "Connections closed, by code", () =>
        [...this.#closed].map(([code, value]) => ({ labels: { code: String(code) }, value })),
      ),
      totals("refused_upgrades", "Upgrades refused because of a connection or rate limit", "refusedUpgrades"),
      totals(
        "refused_inbound",
        "Messages refused because too many bytes of earlier ones were held",
        "refusedInbound",
      ),
      totals("shed", "Published frames dropped because a peer read too slowly", "shed"),
      counter("gaps", "Gaps reported to peers, by reason", () => [
        { labels: { reason: "shed" }, value: total("shedGaps") },
        { labels: { reason: "bus" }, value: total("busGaps") },
      ]),
      totals("dropped_progress", "Progress frames dropped because a peer read too slowly", "droppedProgress"),
      totals(
        "over_budget",
        "Connections closed because the process exceeded its buffer budget",
        "overBudget",
      ),
      {
        name: "halyard.wire.bus.connected",
        help: "Whether the broker is connected: 1 or 0",
        type: "gauge",
        read: () => this.#buses().map(({ connected }) => ({ value: connected ? 1 : 0 })),
      },
      counter(
        "bus.refused",
        "Broker messages dropped: too large, unreadable, or of another application",
        () => this.#buses().map(({ refused }) => ({ value: refused })),
      ),
    ];
  }

  /** The state of all brokers together; empty without a broker. */
  #buses(): readonly { readonly connected: boolean; readonly refused: number }[] {
    const statuses = [...this.#pubsubs].flatMap(({ status }) => (status === undefined ? [] : [status]));
    if (statuses.length === 0) return [];
    const refused = statuses.reduce((sum, status) => sum + status.refused, 0);
    return [{ connected: statuses.every(({ connected }) => connected), refused }];
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
 * Creates metrics for every server of the routers it is given to: connections, topics, unsent bytes, dropped messages,
 * gaps, close codes and request durations.
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
