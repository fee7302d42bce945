/** Reports the metrics to OpenTelemetry if its API is installed. */
import type { ObservableResult } from "@opentelemetry/api";
import { COUNTERS, DURATION } from "./families.ts";
import { DURATION_BOUNDS_MS, type Gauge, type ReadableMeter } from "./meter.ts";

type OpenTelemetry = typeof import("@opentelemetry/api");

const SCOPE = "@halyard/flags";
const PREFIX = "halyard.flags.";

let loading: Promise<OpenTelemetry | undefined> | undefined;

export interface Telemetry {
  close(): void;
}

/** Reports to the meter provider that is registered at the start of the service. */
export function startTelemetry(
  meter: ReadableMeter,
  warn: (message: string, error: unknown) => void,
): Telemetry {
  loading ??= import("@opentelemetry/api").catch(() => undefined);
  const stops: (() => void)[] = [];
  let isClosed = false;
  loading
    .then((api) => {
      if (api !== undefined && !isClosed) report(meter, api, stops);
    })
    .catch((error: unknown) => warn("The metrics could not be reported to OpenTelemetry.", error));
  return {
    close() {
      isClosed = true;
      meter.listen(undefined);
      for (const stop of stops.splice(0)) stop();
    },
  };
}

function report(meter: ReadableMeter, { metrics }: OpenTelemetry, stops: (() => void)[]): void {
  const provider = metrics.getMeter(SCOPE);
  for (const { name, help, samples } of COUNTERS) {
    const counter = provider.createObservableCounter(`${PREFIX}${name}`, { description: help });
    const observe = (result: ObservableResult) => {
      for (const { labels, value } of samples(meter.figures())) result.observe(value, labels);
    };
    counter.addCallback(observe);
    stops.push(() => counter.removeCallback(observe));
  }
  const duration = provider.createHistogram(`${PREFIX}${DURATION.name}`, {
    description: DURATION.help,
    advice: { explicitBucketBoundaries: DURATION_BOUNDS_MS.map((boundMs) => boundMs / 1000) },
  });
  meter.listen({
    answered: (operation, status, durationMs) =>
      duration.record(durationMs / 1000, { operation, status: String(status) }),
    observed({ name, help, labels, read }: Gauge) {
      const gauge = provider.createObservableGauge(`${PREFIX}${name}`, { description: help });
      const observe = (result: ObservableResult) => {
        const value = read();
        if (!Number.isNaN(value)) result.observe(value, labels);
      };
      gauge.addCallback(observe);
      stops.push(() => gauge.removeCallback(observe));
    },
  });
}
