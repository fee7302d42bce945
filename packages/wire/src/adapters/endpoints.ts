/** What a server answers to plain HTTP: whether it is well, its figures, and that it is a WebSocket server otherwise. */
import type { Server } from "../router/server.ts";

export interface EndpointOptions {
  /** Where `GET` tells whether the server is well: 200, or 503 while it drains. Default: nowhere. */
  readonly healthPath?: string;
  /** Where `GET` gives the figures of the router option `metrics` for Prometheus. Default: nowhere. */
  readonly metricsPath?: string;
}

/** `degraded`: the broker between the processes is not reached. */
export interface Health {
  readonly status: "ok" | "degraded" | "draining";
  readonly connections: number;
  /** Only where the router has a pub/sub with a broker. */
  readonly bus?: "connected" | "disconnected";
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Figures that can be shown as text. */
interface Shown {
  readonly contentType: string;
  toPrometheus(): string;
}

export function healthOf(server: Server, isDraining: boolean): Health {
  const { bus } = server;
  const isCutOff = bus !== undefined && !bus.connected;
  return {
    status: isDraining ? "draining" : isCutOff ? "degraded" : "ok",
    connections: server.connections.size,
    ...(bus !== undefined && { bus: bus.connected ? "connected" : "disconnected" }),
  };
}

/** Throws for a path whose figures nobody keeps. */
export function createEndpoints(
  server: Server,
  { healthPath, metricsPath }: EndpointOptions,
  isDraining: () => boolean,
): (method: string | undefined, pathname: string) => Answer {
  const shown = metricsPath === undefined ? undefined : shownBy(server);
  return (method, pathname) => {
    if (method === "GET" && pathname === healthPath) {
      const health = healthOf(server, isDraining());
      // Cut off from the broker it still serves; taking all such servers out of service would make it worse.
      return json(health.status === "draining" ? 503 : 200, health);
    }
    if (method === "GET" && shown !== undefined && pathname === metricsPath)
      return { status: 200, headers: { "content-type": shown.contentType }, body: shown.toPrometheus() };
    return {
      status: 426,
      headers: { "content-type": "text/plain", upgrade: "websocket" },
      body: "This is a WebSocket server.\n",
    };
  };
}

function shownBy(server: Server): Shown {
  const metrics: Partial<Shown> | undefined = server.metrics as Partial<Shown> | undefined;
  if (typeof metrics?.toPrometheus === "function") return metrics as Shown;
  throw new TypeError(
    "metricsPath is set, but the router keeps no figures. Give it the option metrics: createMetrics(), from @halyard/wire/middleware.",
  );
}

function json(status: number, body: object): Answer {
  const headers = { "content-type": "application/json", "cache-control": "no-store" };
  return { status, headers, body: `${JSON.stringify(body)}\n` };
}
