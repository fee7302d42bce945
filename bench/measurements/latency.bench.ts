import { measureLatency } from "../http/latency.ts";
import type { Measurement } from "../measurement.ts";

export const measurement: Measurement = measureLatency(
  "latency",
  "How long an evaluation takes when nothing else is asked, limits off: the limit over the worst of P50, P95 and P99",
);
