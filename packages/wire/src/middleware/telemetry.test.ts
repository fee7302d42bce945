import { context, metrics, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { WsError } from "../protocol/error.ts";
import { createTestServer } from "../testing/index.ts";
import { createRouter, message, rpc, z } from "../zod.ts";
import { telemetry } from "./telemetry.ts";

const CANARY = "canary-90ab";
const Ask = rpc("ASK", { how: z.string(), secret: z.string() }, "ANSWER", { secret: z.string() });
const Tell = message("TELL", { secret: z.string() });

const spans = new InMemorySpanExporter();
const points = new InMemoryMetricExporter(AggregationTemporality.DELTA);
const tracing = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] });
const metering = new MeterProvider({
  readers: [new PeriodicExportingMetricReader({ exporter: points, exportIntervalMillis: 3_600_000 })],
});

async function serve() {
  const router = createRouter()
    .onError(() => undefined)
    .use(telemetry())
    .rpc(Ask, (ctx) => {
      if (ctx.payload.how === "throw") throw new Error(ctx.payload.secret);
      if (ctx.payload.how === "refuse") throw new WsError("NOT_FOUND", ctx.payload.secret);
      ctx.reply(Ask.response, { secret: ctx.payload.secret });
    })
    .on(Tell, () => undefined);
  return await createTestServer(router).connect();
}

/** All data points since the last call, by metric and attributes. */
async function collect(): Promise<Record<string, { attributes: object; value: unknown }[]>> {
  points.reset();
  await metering.forceFlush();
  const collected: Record<string, { attributes: object; value: unknown }[]> = {};
  for (const { scopeMetrics } of points.getMetrics()) {
    for (const { descriptor, dataPoints } of scopeMetrics.flatMap((scope) => scope.metrics)) {
      collected[descriptor.name] = dataPoints.map(({ attributes, value }) => ({ attributes, value }));
    }
  }
  return collected;
}

describe("telemetry", () => {
  beforeAll(() => {
    trace.setGlobalTracerProvider(tracing);
    metrics.setGlobalMeterProvider(metering);
  });
  afterAll(async () => {
    trace.disable();
    metrics.disable();
    context.disable();
    await tracing.shutdown();
    await metering.shutdown();
  });
  beforeEach(async () => {
    await collect();
    spans.reset();
  });

  test("creates a server span around each handler, named after the message", async () => {
    const peer = await serve();
    await peer.request(Ask, { how: "", secret: CANARY });
    await peer.send(Tell, { secret: CANARY });
    expect(spans.getFinishedSpans()).toMatchObject([
      {
        name: "wire ASK",
        kind: SpanKind.SERVER,
        attributes: { "halyard.wire.type": "ASK", "halyard.wire.kind": "rpc" },
        status: { code: SpanStatusCode.UNSET },
        instrumentationScope: { name: "@halyard/wire" },
      },
      {
        name: "wire TELL",
        attributes: { "halyard.wire.type": "TELL", "halyard.wire.kind": "event" },
        status: { code: SpanStatusCode.UNSET },
      },
    ]);
  });

  test("marks a failure with its code", async () => {
    const peer = await serve();
    await expect(peer.request(Ask, { how: "throw", secret: CANARY })).rejects.toThrow();
    await expect(peer.request(Ask, { how: "refuse", secret: CANARY })).rejects.toThrow();
    expect(spans.getFinishedSpans()).toMatchObject([
      { status: { code: SpanStatusCode.ERROR }, attributes: { "halyard.wire.error": "INTERNAL" } },
      { status: { code: SpanStatusCode.ERROR }, attributes: { "halyard.wire.error": "NOT_FOUND" } },
    ]);
  });

  test("counts messages and measures their duration by type, kind and error", async () => {
    const peer = await serve();
    for (let i = 0; i < 3; i++) await peer.request(Ask, { how: "", secret: CANARY });
    await expect(peer.request(Ask, { how: "refuse", secret: CANARY })).rejects.toThrow();
    await peer.send(Tell, { secret: CANARY });
    const collected = await collect();
    const ask = { "halyard.wire.type": "ASK", "halyard.wire.kind": "rpc" };
    expect(collected["halyard.wire.messages"]).toEqual([
      { attributes: ask, value: 3 },
      { attributes: { ...ask, "halyard.wire.error": "NOT_FOUND" }, value: 1 },
      { attributes: { "halyard.wire.type": "TELL", "halyard.wire.kind": "event" }, value: 1 },
    ]);
    expect(collected["halyard.wire.duration"]).toMatchObject([
      { attributes: ask, value: { count: 3, min: expect.any(Number) } },
      { value: { count: 1 } },
      { value: { count: 1 } },
    ]);
  });

  test("records nothing from a peer except the type", async () => {
    const peer = await serve();
    for (const how of ["", "throw", "refuse"])
      await peer.send(Ask, { how, secret: CANARY }, { correlationId: CANARY });
    const recorded = spans.getFinishedSpans().map(({ name, attributes, events, status, links }) => ({
      name,
      attributes,
      events,
      status,
      links,
    }));
    expect(recorded).toHaveLength(3);
    expect(JSON.stringify(recorded)).not.toContain(CANARY);
    expect(JSON.stringify(await collect())).not.toContain(CANARY);
  });
});
