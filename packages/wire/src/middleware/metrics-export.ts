/** Exports metrics to OpenTelemetry, when it is installed. */
import type { Meter } from "@opentelemetry/api";
import type { Figure } from "./figure.ts";

const SCOPE = "@halyard/wire";

export async function loadMeter(): Promise<Meter | undefined> {
  try {
    const { metrics } = await import("@opentelemetry/api");
    return metrics.getMeter(SCOPE);
  } catch {
    console.warn(
      "[halyard] createMetrics() exports nothing to OpenTelemetry, because @opentelemetry/api is not installed. Install it, or remove the option `openTelemetry`.",
    );
    return undefined;
  }
}

/** Registers each figure; OpenTelemetry reads it on demand. */
export function exportTo(meter: Meter, figures: readonly Figure[]): void {
  for (const { name, help, type, read } of figures) {
    const options = { description: help };
    const instrument =
      type === "gauge"
        ? meter.createObservableGauge(name, options)
        : meter.createObservableCounter(name, options);
    instrument.addCallback((result) => {
      for (const { labels, value } of read()) result.observe(value, prefixed(labels));
    });
  }
}

function prefixed(labels: Readonly<Record<string, string>> | undefined): Record<string, string> {
  return Object.fromEntries(
    Object.entries(labels ?? {}).map(([key, value]) => [`halyard.wire.${key}`, value]),
  );
}
