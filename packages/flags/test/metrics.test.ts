/** Checks the metrics over HTTP, as a server method and through OpenTelemetry. */
import { readFileSync } from "node:fs";
import { closeFeatureFlags } from "@halyard/flags";
import { metrics } from "@opentelemetry/api";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import type { Host, Person } from "./host.ts";
import { flag, memoryHost } from "./memory-host.ts";
import { parsePrometheus } from "./prometheus.ts";

const PATH = "/feature-flags/metrics";

async function scrape(host: Host, as?: Person): Promise<{ status: number; type: string; text: string }> {
  const response = await fetch(`${host.origin}/api/auth${PATH}`, { headers: { ...as?.headers } });
  return {
    status: response.status,
    type: response.headers.get("content-type") ?? "",
    text: await response.text(),
  };
}

/** The sum of a metric's samples with these labels. */
async function read(host: Host, name: string, labels: Record<string, string> = {}): Promise<number> {
  const family = name.replace(/_(?:bucket|sum|count)$/, "");
  const text = await host.auth.api.getFeatureFlagsMetrics();
  const samples = (parsePrometheus(text).get(family) ?? parsePrometheus(text).get(name))?.samples.filter(
    (sample) =>
      sample.name === name &&
      Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
  );
  return samples?.reduce((sum, { value }) => sum + value, 0) ?? Number.NaN;
}

const event = (fields: object = {}) => ({ flagKey: "k", event: "clicked", ...fields });

describe("metrics", () => {
  test("are Prometheus text for callers who may read all flags, including API keys, and for no other caller", async () => {
    const host = await memoryHost();
    const admin = await host.person("root", "admin");
    const [reading, none] = [
      await host.key({ userId: admin.id }, ["read"]),
      await host.key({ userId: admin.id }, ["update"]),
    ];
    for (const as of [admin, reading]) {
      const { status, type, text } = await scrape(host, as);
      expect([status, type]).toEqual([200, "text/plain"]);
      expect(parsePrometheus(text).size).toBeGreaterThan(10);
    }
    expect((await scrape(host)).status).toBe(401);
    for (const as of [none, await host.person("user")]) expect((await scrape(host, as)).status).toBe(403);
  });

  test("with multiTenant are only for callers who may read all tenants, not for an organization or its API keys", async () => {
    const host = await memoryHost({ flags: { multiTenant: true } });
    const [admin, owner] = [await host.person("root", "admin"), await host.person("owner")];
    const organizationId = await host.organization(owner, "own");
    const keys = {
      ofAdmin: await host.key({ userId: admin.id }, ["read"]),
      ofAdminWithoutRead: await host.key({ userId: admin.id }, ["audit"]),
      ofOwner: await host.key({ userId: owner.id }, ["read"]),
      ofOrganization: await host.key({ userId: owner.id, organizationId }, ["read"]),
    };
    for (const as of [admin, keys.ofAdmin]) expect((await scrape(host, as)).status).toBe(200);
    for (const as of [owner, keys.ofAdminWithoutRead, keys.ofOwner, keys.ofOrganization]) {
      expect((await scrape(host, as)).status).toBe(403);
    }
  });

  test("are all described in docs/guide/flags-metrics.md, and all metrics described there exist", async () => {
    const sinks = [{ name: "warehouse", deliver: async () => undefined }];
    // Some metrics exist only with certain options.
    const store = { take: async () => ({ granted: 1, resetMs: undefined }) };
    const host = await memoryHost({
      rateLimit: { enabled: true },
      flags: { events: { sinks }, rateLimit: { store }, trusted: {} },
    });
    const names = [...parsePrometheus(await host.auth.api.getFeatureFlagsMetrics()).keys()];
    const docs = readFileSync(new URL("../../../docs/guide/flags-metrics.md", import.meta.url), "utf8");
    const table = docs.matchAll(/^\| `(halyard_flags_\w+)/gm);
    expect(names.sort()).toEqual([...table].map(([, name]) => name).sort());
  });

  test("count evaluations by reason", async () => {
    const host = await memoryHost();
    await host.auth.api.createFeatureFlag({ body: flag({ enabled: true, defaultValue: "v" }) });
    await host.auth.api.createFeatureFlag({ body: flag({ key: "off" }) });
    const body = { flagKeys: ["k", "off", "nope"] };
    await host.request("/feature-flags/evaluate-batch", body);
    await host.auth.api.evaluateFeatureFlags({ body });
    await host.evaluate({ flagKey: "k" });
    await host.request("/feature-flags/bootstrap", {});
    const counts = ["default", "disabled", "not_found", "rule_match"].map((reason) =>
      read(host, "halyard_flags_evaluations_total", { reason }),
    );
    expect(await Promise.all(counts)).toEqual([4, 2, 2, 0]);
  });

  test("count and time requests by operation and status, but not server calls", async () => {
    const host = await memoryHost();
    const admin = await host.person("root", "admin");
    const count = (operation: string, status: number) =>
      read(host, "halyard_flags_request_duration_seconds_count", { operation, status: String(status) });
    await host.createFlag(flag(), admin);
    await host.createFlag(flag(), admin);
    await host.createFlag(flag());
    await host.evaluate({});
    await host.evaluate({ flagKey: "k" });
    await host.auth.api.evaluateFeatureFlag({ body: { flagKey: "k" } });
    expect(await Promise.all([201, 409, 401].map((status) => count("createFeatureFlag", status)))).toEqual([
      1, 1, 1,
    ]);
    expect(await count("evaluateFeatureFlag", 400)).toBe(1);
    expect(await count("evaluateFeatureFlag", 200)).toBe(1);
    const seconds = await read(host, "halyard_flags_request_duration_seconds_sum");
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThan(60);
  });

  test("count events as accepted or refused", async () => {
    const host = await memoryHost();
    await host.auth.api.createFeatureFlag({ body: flag() });
    await host.request("/feature-flags/events", event());
    await host.request("/feature-flags/events", event(), { "idempotency-key": "one" });
    await host.request("/feature-flags/events", event(), { "idempotency-key": "one" });
    await host.request("/feature-flags/events/batch", { events: [event(), { flagKey: "k" }] });
    expect(await read(host, "halyard_flags_events_total", { fate: "accepted" })).toBe(4);
    expect(await read(host, "halyard_flags_events_total", { fate: "refused" })).toBe(1);
    expect(await read(host, "halyard_flags_event_queue_depth")).toBe(0);
  });

  test("count requests over a rate limit by rule, and the metrics route has no limit", async () => {
    const rules = { evaluate: { max: 1, windowSeconds: 60 } };
    const host = await memoryHost({ rateLimit: { enabled: true }, flags: { rateLimit: { rules } } });
    for (let turn = 0; turn < 3; turn++) await host.evaluate({ flagKey: "k" });
    expect(await read(host, "halyard_flags_rate_limited_total", { rule: "evaluate" })).toBe(2);
    expect(
      await read(host, "halyard_flags_request_duration_seconds_count", {
        operation: "evaluateFeatureFlag",
        status: "429",
      }),
    ).toBe(2);
    for (let turn = 0; turn < 150; turn++) {
      const path = ["health", "ready"][turn % 2];
      expect((await host.call("GET", `/feature-flags/${path}`)).status).toBe(200);
    }
  });

  test("include losses even if they are 0", async () => {
    const text = await (await memoryHost()).auth.api.getFeatureFlagsMetrics();
    const { samples } = parsePrometheus(text).get("halyard_flags_lost_total") ?? { samples: [] };
    expect(samples.map(({ labels, value }) => [labels["what"], value])).toEqual([
      ["exposure", 0],
      ["identity-link", 0],
      ["evaluation-count", 0],
      ["sink-event", 0],
    ]);
  });

  test("report the age of the snapshots", async () => {
    const host = await memoryHost();
    await host.auth.api.createFeatureFlag({ body: flag() });
    await host.evaluate({ flagKey: "k" });
    expect(await read(host, "halyard_flags_revision")).toBe(1);
    expect(await read(host, "halyard_flags_revision_lag")).toBe(0);
    expect(await read(host, "halyard_flags_snapshots")).toBe(1);
    expect(await read(host, "halyard_flags_snapshot_age_seconds")).toBeLessThan(20);
  });

  test("contain no names of tenants, users or flags", async () => {
    const host = await memoryHost({ flags: { multiTenant: true } });
    const owner = await host.person("owner-canary");
    const organizationId = await host.organization(owner, "own");
    const body = flag({ key: "key-canary", enabled: true, organizationId });
    await host.auth.api.createFeatureFlag({ body });
    const context = { userId: "user-canary" };
    await host.evaluate({ flagKey: "key-canary" }, owner);
    await host.evaluate({ flagKey: "key-canary", context, track: true });
    await host.request(
      "/feature-flags/events",
      event({ flagKey: "key-canary", event: "event-canary" }),
      owner.headers,
    );
    const text = await host.auth.api.getFeatureFlagsMetrics();
    for (const secret of ["canary", organizationId, owner.id]) expect(text).not.toContain(secret);
  });
});

describe("OpenTelemetry", () => {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const provider = new MeterProvider({
    readers: [new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 })],
  });
  afterEach(() => {
    metrics.disable();
  });

  /** The newest data points of each metric. */
  async function collect() {
    exporter.reset();
    await provider.forceFlush();
    const collected = exporter
      .getMetrics()
      .flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((one) => one.metrics));
    return new Map(
      collected.map(({ descriptor, dataPoints }) => [
        descriptor.name,
        dataPoints.map(({ attributes, value }) => ({ attributes, value })),
      ]),
    );
  }

  test("gets the same metrics under the same names until closeFeatureFlags", async () => {
    metrics.setGlobalMeterProvider(provider);
    onTestFinished(() => provider.shutdown());
    const host = await memoryHost();
    await host.evaluate({ flagKey: "nope" });
    await vi.waitFor(async () => expect((await collect()).size).toBeGreaterThan(0), 5_000);
    await host.evaluate({ flagKey: "nope" });
    const points = await collect();
    const notFound = { attributes: { reason: "not_found" }, value: 2 };
    expect(points.get("halyard.flags.evaluations")).toContainEqual(notFound);
    expect(points.get("halyard.flags.request_duration_seconds")).toContainEqual({
      attributes: { operation: "evaluateFeatureFlag", status: "200" },
      value: expect.objectContaining({ count: expect.any(Number) }),
    });
    const text = parsePrometheus(await host.auth.api.getFeatureFlagsMetrics());
    const withSamples = [...text].filter(([, { samples }]) => samples.length > 0).map(([name]) => name);
    const renamed = [...points.keys()].map((name) => name.replaceAll(".", "_"));
    const expected = withSamples
      .map((name) => name.replace(/_total$/, ""))
      .filter((name) => name !== "halyard_flags_info");
    expect(renamed.sort()).toEqual(expected.sort());

    await closeFeatureFlags(host.auth);
    await host.evaluate({ flagKey: "nope" });
    expect((await collect()).get("halyard.flags.evaluations")).toContainEqual(notFound);
  });
});
