/** Gives figures to OpenTelemetry, where it is installed. */
import type { Meter } from "@opentelemetry/api";
import type { Figure } from "./figure.ts";

const SCOPE = "@halyard/wire";

export async function loadMeter(): Promise<Meter | undefined> {
  try {
    const { metrics } = await import("@opentelemetry/api");
    return metrics.getMeter(SCOPE);
  } catch {
    console.warn(
      "[halyard] createMetrics() gives nothing to OpenTelemetry: @opentelemetry/api is not installed. Add it, or leave out `openTelemetry`.",
    );
    return undefined;
  }
}

/** Each figure is read when the reader asks for it. */
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
