/** The operation that gives the metrics of this process: `GET /feature-flags/metrics`. */
import { admitToService } from "../access/admission.ts";
import { renderMetrics } from "../metrics/text.ts";
import { VERSION } from "../version.ts";
import type { Get, NoQuery, Operation } from "./definition.ts";

/** Gives the metrics of this process as Prometheus text. Needs `read` on global flags. */
export const getFeatureFlagsMetrics: Operation<Get<"/feature-flags/metrics", NoQuery, string>> = {
  summary: "The metrics of this process as Prometheus text",
  method: "GET",
  path: "/feature-flags/metrics",
  scope: "server",
  action: "read",
  rateLimit: "none",
  async run(call) {
    await admitToService(call);
    return renderMetrics(call.service.meter.figures(), VERSION);
  },
};
