import { metrics as api } from "@opentelemetry/api";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { describe, expect, test } from "vitest";
import { MemoryPubSub } from "../pubsub/memory.ts";
import { createTestServer } from "../testing/index.ts";
import { createRouter, message, rpc, z } from "../zod.ts";
import { createMetrics } from "./metrics.ts";

const Ask = rpc("ASK", { how: z.string() }, "ANSWER", {});
const News = message("NEWS", { text: z.string() });

function start(metrics = createMetrics(), pubsub = new MemoryPubSub()) {
  const router = createRouter({ metrics, pubsub, socketBufferLimitBytes: 1_000 })
    .onError(() => undefined)
    .onOpen((ctx) => ctx.subscribe("news"))
    .rpc(Ask, (ctx) => {
      const { how } = ctx.payload;
      if (how === "fail") throw new Error("no");
      if (how === "custom") return ctx.error("MY_OWN_CODE");
      if (how === "never") return;
      ctx.reply(Ask.response, {});
    });
  const server = createTestServer(router);
  /** The value of one line. Undefined when there is no such line. */
  const value = (line: string) => {
    const sample = metrics
      .toPrometheus()
      .split("\n")
      .find((text) => text.startsWith(`${line} `));
    return sample === undefined ? undefined : Number(sample.slice(line.length + 1));
  };
  return { metrics, router, server, value };
}

describe("metrics", () => {
  test("count the current connections, topics and unsent bytes", async () => {
    const { server, router, value } = start();
    expect(value("halyard_wire_connections")).toBe(0);
    const [one, two] = [await server.connect(), await server.connect()];
    expect([value("halyard_wire_connections"), value("halyard_wire_topics")]).toEqual([2, 1]);
    one.pause();
    await router.publish("news", News, { text: "x".repeat(500) });
    expect(value("halyard_wire_buffered_bytes")).toBeGreaterThan(500);
    await one.resume();
    expect(value("halyard_wire_buffered_bytes")).toBe(0);
    await one.disconnect(1001);
    await two.disconnect(1000);
    expect([value("halyard_wire_connections"), value("halyard_wire_topics")]).toEqual([0, 0]);
    expect(value('halyard_wire_closed_total{code="1001"}')).toBe(1);
  });

  test("count dropped publishes and announced gaps, also after the server has ended", async () => {
    const { server, router, value } = start();
    const peer = await server.connect();
    peer.pause();
    for (let i = 0; i < 5; i++) await router.publish("news", News, { text: "x".repeat(900) });
    await peer.resume();
    expect(value("halyard_wire_shed_total")).toBe(3);
    expect(value('halyard_wire_gaps_total{reason="shed"}')).toBe(1);
    await server.close();
    expect(value("halyard_wire_shed_total")).toBe(3);
    expect(value("halyard_wire_connections")).toBe(0);
    expect(value('halyard_wire_closed_total{code="1012"}')).toBe(1);
  });

  test("measure every request once by type and outcome", async () => {
    const { server, value } = start();
    const peer = await server.connect();
    for (const how of ["", "", "fail", "custom"]) await peer.request(Ask, { how }).catch(() => undefined);
    const late = peer.request(Ask, { how: "never" }, { timeoutMs: 400 }).catch(() => undefined);
    await server.clock.advance(500);
    await late;
    void peer.request(Ask, { how: "never" }).catch(() => undefined);
    await peer.disconnect();
    const count = (outcome: string) =>
      value(`halyard_wire_rpc_duration_seconds_count{type="ASK",outcome="${outcome}"}`);
    expect(["ok", "INTERNAL", "OTHER", "DEADLINE_EXCEEDED", "DISCONNECTED"].map(count)).toEqual([
      2, 1, 1, 1, 1,
    ]);
    const bucket = (le: string) =>
      value(`halyard_wire_rpc_duration_seconds_bucket{type="ASK",outcome="DEADLINE_EXCEEDED",le="${le}"}`);
    expect([bucket("0.25"), bucket("0.5"), bucket("+Inf")]).toEqual([0, 1, 1]);
    expect(
      value('halyard_wire_rpc_duration_seconds_sum{type="ASK",outcome="DEADLINE_EXCEEDED"}'),
    ).toBeGreaterThanOrEqual(0.4);
  });

  test("report whether the broker is connected, where there is one", async () => {
    const bus = Object.assign(new MemoryPubSub(), { status: { connected: false, gaps: 0, refused: 7 } });
    const { value } = start(createMetrics(), bus);
    expect([value("halyard_wire_bus_connected"), value("halyard_wire_bus_refused_total")]).toEqual([0, 7]);
    bus.status = { connected: true, gaps: 0, refused: 7 };
    expect(value("halyard_wire_bus_connected")).toBe(1);
    expect(start().value("halyard_wire_bus_connected")).toBeUndefined();
  });

  test("are text in Prometheus format: help, type, then samples with escaped labels", async () => {
    const { server, metrics } = start();
    const router = createRouter({ metrics }).rpc(
      rpc('A"\\\n', undefined, "B", undefined),
      (ctx) => void ctx.error("NOT_FOUND"),
    );
    const peer = await createTestServer(router).connect();
    await peer.sendRaw(JSON.stringify({ type: 'A"\\\n', meta: { correlationId: "1" } }));
    await server.connect();
    const text = metrics.toPrometheus();
    expect(metrics.contentType).toBe("text/plain; version=0.0.4; charset=utf-8");
    expect(text).toContain(
      "# HELP halyard_wire_connections Open connections\n# TYPE halyard_wire_connections gauge\nhalyard_wire_connections 2\n",
    );
    expect(text).toContain('_count{type="A\\"\\\\\\n",outcome="NOT_FOUND"} 1\n');
    for (const line of text.trimEnd().split("\n"))
      expect(line).toMatch(/^(# (HELP|TYPE) \w+ .+|\w+(\{(\w+="([^"\\]|\\.)*",?)*\})? [0-9.e+-]+)$/);
  });

  test("are passed to OpenTelemetry when configured", async () => {
    const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
    const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
    const provider = new MeterProvider({ readers: [reader] });
    api.setGlobalMeterProvider(provider);
    const { server } = start(createMetrics({ openTelemetry: true }));
    const peer = await server.connect();
    const collect = async () => {
      exporter.reset();
      await provider.forceFlush();
      const scopes = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics);
      return new Map(
        scopes.flatMap(({ metrics }) => metrics).map((metric) => [metric.descriptor.name, metric]),
      );
    };
    await expect.poll(async () => (await collect()).has("halyard.wire.connections")).toBe(true);
    await peer.request(Ask, { how: "" });
    const collected = await collect();
    expect(collected.get("halyard.wire.connections")?.dataPoints).toMatchObject([{ value: 1 }]);
    expect(collected.get("halyard.wire.gaps")?.dataPoints).toMatchObject([
      { attributes: { "halyard.wire.reason": "shed" }, value: 0 },
      { attributes: { "halyard.wire.reason": "bus" }, value: 0 },
    ]);
    expect(collected.get("halyard.wire.rpc.duration")?.dataPoints).toMatchObject([
      { attributes: { "halyard.wire.type": "ASK", "halyard.wire.outcome": "ok" }, value: { count: 1 } },
    ]);
    api.disable();
    await provider.shutdown();
  });
});
