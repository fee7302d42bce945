/** Middleware that records a span and two metrics per message, with the OpenTelemetry API when it is installed. */
import type { ConnectionData } from "../router/connections/peer.ts";
import type { Middleware } from "../router/context.ts";

type OpenTelemetry = typeof import("@opentelemetry/api");

const SCOPE = "@halyard/wire";

let loading: Promise<OpenTelemetry | undefined> | undefined;

/**
 * Middleware that records a span `wire <type>` around each handler, a counter `halyard.wire.messages` and a histogram
 * `halyard.wire.duration` in ms. Attributes are the message type, its kind and, on failure, the error code; never a
 * payload. It uses the globally registered providers, and does nothing when `@opentelemetry/api` is not installed.
 *
 * @example
 * ```ts
 * import { createRouter } from "@halyard/wire";
 * import { telemetry } from "@halyard/wire/middleware";
 *
 * const router = createRouter().use(telemetry());
 * ```
 */
export function telemetry<Data extends ConnectionData = ConnectionData>(): Middleware<Data> {
  loading ??= import("@opentelemetry/api").catch(() => {
    console.warn(
      "[halyard] telemetry() does nothing, because @opentelemetry/api is not installed. Install it, or remove the middleware.",
    );
    return undefined;
  });
  let measure: Middleware<Data> | undefined;
  return async (ctx, next) => {
    if (measure === undefined) {
      const api = await loading;
      measure = api === undefined ? (_, proceed) => proceed() : measureWith(api);
    }
    return measure(ctx, next);
  };
}

function measureWith<Data extends ConnectionData>(api: OpenTelemetry): Middleware<Data> {
  const { context, metrics, SpanKind, SpanStatusCode, trace } = api;
  const tracer = trace.getTracer(SCOPE);
  const meter = metrics.getMeter(SCOPE);
  const messages = meter.createCounter("halyard.wire.messages", { description: "Messages handled" });
  const duration = meter.createHistogram("halyard.wire.duration", {
    unit: "ms",
    description: "Time in the handler",
  });
  return async (ctx, next) => {
    const attributes = { "halyard.wire.type": ctx.type, "halyard.wire.kind": ctx.isRpc ? "rpc" : "event" };
    const span = tracer.startSpan(`wire ${ctx.type}`, { kind: SpanKind.SERVER, attributes });
    const startedAt = performance.now();
    let code: string | undefined;
    try {
      await context.with(trace.setSpan(context.active(), span), next);
    } catch (error) {
      code = codeOf(error);
      span.setAttribute("halyard.wire.error", code);
      span.setStatus({ code: SpanStatusCode.ERROR });
      throw error;
    } finally {
      const labels = code === undefined ? attributes : { ...attributes, "halyard.wire.error": code };
      messages.add(1, labels);
      duration.record(performance.now() - startedAt, labels);
      span.end();
    }
  };
}

/** Only the code: the message of an error may quote what a peer sent. */
function codeOf(error: unknown): string {
  return typeof error === "object" && error !== null && "code" in error && typeof error.code === "string"
    ? error.code
    : "INTERNAL";
}
