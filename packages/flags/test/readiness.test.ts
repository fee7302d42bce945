/** Checks `GET /feature-flags/ready`. */
import { closeFeatureFlags } from "@halyard/flags";
import { expect, test, vi } from "vitest";
import { flag, memoryHost } from "./memory-host.ts";

const PATH = "/feature-flags/ready";
const READY = [200, { ready: true }];

test("a process that can evaluate is ready, for every caller", async () => {
  const host = await memoryHost();
  const { status, json } = await host.call("GET", PATH);
  expect([status, json]).toEqual(READY);
  expect(await host.auth.api.getFeatureFlagsReadiness()).toEqual({ ready: true });
});

test("a process without a snapshot and without a database is not ready, and responds with Retry-After and no details", async () => {
  const host = await memoryHost();
  // Better Auth compares the tables with its schema at the first request.
  await host.call("GET", "/ok");
  host.db.exec('alter table "featureFlagRevision" rename to "gone"');
  const { status, json, headers, text } = await host.call("GET", PATH);
  expect([status, json]).toEqual([503, { ready: false, reason: "no flags yet" }]);
  expect(headers.get("retry-after")).toBe("1");
  expect(text).not.toContain("featureFlagRevision");
  host.db.exec('alter table "gone" rename to "featureFlagRevision"');
  await vi.waitFor(async () => expect((await host.call("GET", PATH)).status).toBe(200), 5_000);
});

test("a process with a snapshot stays ready while the database is down, and says that writes are refused", async () => {
  const host = await memoryHost();
  await host.auth.api.createFeatureFlag({ body: flag({ enabled: true, defaultValue: "v" }) });
  await host.evaluate({ flagKey: "k" });
  host.db.exec('alter table "featureFlagRevision" rename to "gone"');
  await vi.waitFor(async () => {
    const { status, json } = await host.call("GET", PATH);
    expect([status, json]).toEqual([200, { ready: true, writes: "refused" }]);
  }, 10_000);
  expect((await host.evaluate({ flagKey: "k" })).json.value).toBe("v");
});

test("a process is not ready after closeFeatureFlags, but still answers requests", async () => {
  const host = await memoryHost();
  await host.auth.api.createFeatureFlag({ body: flag({ enabled: true, defaultValue: "v" }) });
  await closeFeatureFlags(host.auth);
  const { status, json } = await host.call("GET", PATH);
  expect([status, json]).toEqual([503, { ready: false, reason: "closing" }]);
  expect((await host.evaluate({ flagKey: "k" })).json.value).toBe("v");
  expect((await host.call("GET", "/feature-flags/health")).status).toBe(200);
});

test("a process that is closed before its first request is not ready", async () => {
  const host = await memoryHost();
  await closeFeatureFlags(host.auth);
  expect((await host.call("GET", PATH)).status).toBe(503);
});
