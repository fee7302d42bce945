/** Plain HTTP requests to a server: health, metrics, and status 426 for anything else. */
import type { Server } from "../router/contracts.ts";

/** Plain HTTP endpoints of a server. */
export interface EndpointOptions {
  /** The path of the health check: `GET` returns 200, or 503 during a drain. Default: none. */
  readonly healthPath?: string;
  /** The path of the metrics: `GET` returns those of the router option `metrics` for Prometheus. Default: none. */
  readonly metricsPath?: string;
}

/** The health of a server. `degraded`: the broker is disconnected. */
export interface Health {
  /** `draining`: it is stopping, and takes no new connections. */
  readonly status: "ok" | "degraded" | "draining";
  /** How many connections are open. */
  readonly connections: number;
  /** Set only when the router has a pub/sub with a broker. */
  readonly bus?: "connected" | "disconnected";
}

/** An HTTP response. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Metrics with a text form. */
interface TextMetrics {
  readonly contentType: string;
  toPrometheus(): string;
}

export function healthOf(server: Server, isDraining: boolean): Health {
  const { brokerStatus } = server;
  const isBrokerLost = brokerStatus !== undefined && !brokerStatus.connected;
  return {
    status: isDraining ? "draining" : isBrokerLost ? "degraded" : "ok",
    connections: server.connections.size,
    ...(brokerStatus !== undefined && { bus: brokerStatus.connected ? "connected" : "disconnected" }),
  };
}

/** Throws when `metricsPath` is set but the router has no metrics with a text form. */
export function createEndpoints(
  server: Server,
  { healthPath, metricsPath }: EndpointOptions,
  isDraining: () => boolean,
): (method: string | undefined, pathname: string) => HttpAnswer {
  const metrics = metricsPath === undefined ? undefined : textMetricsOf(server);
  return (method, pathname) => {
    if (method === "GET" && pathname === healthPath) {
      const health = healthOf(server, isDraining());
      // Without the broker, the server still serves its connections; taking all servers out of service would be worse.
      return json(health.status === "draining" ? 503 : 200, health);
    }
    if (method === "GET" && metrics !== undefined && pathname === metricsPath)
      return { status: 200, headers: { "content-type": metrics.contentType }, body: metrics.toPrometheus() };
    return {
      status: 426,
      headers: { "content-type": "text/plain", upgrade: "websocket" },
      body: "This is a WebSocket server.\n",
    };
  };
}

function textMetricsOf(server: Server): TextMetrics {
  const metrics: Partial<TextMetrics> | undefined = server.metrics as Partial<TextMetrics> | undefined;
  if (typeof metrics?.toPrometheus === "function") return metrics as TextMetrics;
  throw new TypeError(
    "The option metricsPath is set, but the router has no metrics. Set its option metrics to createMetrics() of @halyard/wire/middleware.",
  );
}

function json(status: number, body: object): HttpAnswer {
  const headers = { "content-type": "application/json", "cache-control": "no-store" };
  return { status, headers, body: `${JSON.stringify(body)}\n` };
}
