/** Whether a process is sent requests: `GET /feature-flags/ready`. */
import { closeFeatureFlags } from "@halyard/flags";
import { expect, test, vi } from "vitest";
import { flag, memoryHost } from "./memory-host.ts";

const PATH = "/feature-flags/ready";
const READY = [200, { ready: true }];

test("a process that can answer is ready, and says so to everybody", async () => {
  const host = await memoryHost();
  const { status, json } = await host.call("GET", PATH);
  expect([status, json]).toEqual(READY);
  expect(await host.auth.api.getFeatureFlagsReadiness()).toEqual({ ready: true });
});

test("without flags and without a database it is not, and says when to ask again but nothing of the database", async () => {
  const host = await memoryHost();
  // Better Auth compares its tables with the database at the first request.
  await host.call("GET", "/ok");
  host.db.exec('alter table "featureFlagRevision" rename to "gone"');
  const { status, json, headers, text } = await host.call("GET", PATH);
  expect([status, json]).toEqual([503, { ready: false, reason: "no flags yet" }]);
  expect(headers.get("retry-after")).toBe("1");
  expect(text).not.toContain("featureFlagRevision");
  host.db.exec('alter table "gone" rename to "featureFlagRevision"');
  await vi.waitFor(async () => expect((await host.call("GET", PATH)).status).toBe(200), 5_000);
});

test("a process that has flags stays ready while the database is down: it can answer", async () => {
  const host = await memoryHost();
  await host.auth.api.createFeatureFlag({ body: flag({ enabled: true, defaultValue: "v" }) });
  await host.evaluate({ flagKey: "k" });
  host.db.exec('alter table "featureFlagRevision" rename to "gone"');
  const { status, json } = await host.call("GET", PATH);
  expect([status, json]).toEqual(READY);
  expect((await host.evaluate({ flagKey: "k" })).json.value).toBe("v");
});

test("after closeFeatureFlags it is not, while what still comes is answered", async () => {
  const host = await memoryHost();
  await host.auth.api.createFeatureFlag({ body: flag({ enabled: true, defaultValue: "v" }) });
  await closeFeatureFlags(host.auth);
  const { status, json } = await host.call("GET", PATH);
  expect([status, json]).toEqual([503, { ready: false, reason: "closing" }]);
  expect((await host.evaluate({ flagKey: "k" })).json.value).toBe("v");
  expect((await host.call("GET", "/feature-flags/health")).status).toBe(200);
});

test("closing before the first request counts as well", async () => {
  const host = await memoryHost();
  await closeFeatureFlags(host.auth);
  expect((await host.call("GET", PATH)).status).toBe(503);
});
