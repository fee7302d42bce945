/** Two copies of the packages in one process: each function of one copy serves an auth instance of the other. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import * as flags from "@halyard/flags";
import type * as live from "@halyard/flags/live";
import type * as node from "@halyard/flags/node";
import * as sessions from "@halyard/sessions";
import { createRouter } from "@halyard/wire";
import { expect, onTestFinished, test } from "vitest";
import { livePage, mountLive } from "./live/kit.ts";
import { flag, memoryHost } from "./memory-host.ts";
import { loadSecondCopy } from "./second-copy.ts";

type Copy = typeof flags & typeof live & typeof node & typeof sessions;

const copy = await loadSecondCopy<Copy>(
  "@halyard/flags",
  "@halyard/flags/node",
  "@halyard/flags/live",
  "@halyard/sessions",
);

test("the second copy has classes and functions of its own", async () => {
  expect(copy.featureFlags).not.toBe(flags.featureFlags);
  expect(copy.IdentityError).not.toBe(sessions.IdentityError);
});

test("closeFeatureFlags of another copy closes the flags of an auth instance", async () => {
  const { auth, call } = await memoryHost();
  expect((await call("GET", "/feature-flags/ready")).status).toBe(200);
  await copy.closeFeatureFlags(auth);
  const ready = await call("GET", "/feature-flags/ready");
  expect([ready.status, ready.json.reason]).toEqual([503, "closing"]);
});

test("the fast path of another copy answers, and the first copy's health knows it", async () => {
  const { auth } = await memoryHost();
  await auth.api.createFeatureFlag({ body: flag({ enabled: true, defaultValue: "on" }) });
  const wrapped = copy.withFeatureFlags(auth);
  expect(flags.withFeatureFlags(wrapped)).toBe(wrapped);
  await auth.$context;
  const handle = copy.toNodeHandler(wrapped);
  const server = createServer((request, response) => void handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const response = await fetch(`http://127.0.0.1:${port}/api/auth/feature-flags/evaluate`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ flagKey: "k" }),
  });
  expect(await response.json()).toMatchObject({ value: "on" });
  expect(await auth.api.getFeatureFlagsHealth()).toMatchObject({ fastPath: "on" });
});

test("the audit log and sinks of an auth instance are reached through another copy", async () => {
  const delivered: unknown[] = [];
  const deliver = async (events: readonly unknown[]) => void delivered.push(...events);
  const { auth } = await memoryHost({ flags: { events: { sinks: [{ name: "own", deliver }] } } });
  await auth.api.createFeatureFlag({ body: flag() });
  expect(await copy.verifyFeatureFlagAudit(auth)).toMatchObject({ ok: true });
  await auth.api.createFeatureFlagEvent({ body: { flagKey: "k", event: "paid", context: { userId: "u1" } } });
  expect(await copy.deliverFeatureFlagEvents(auth)).toBe(1);
  expect(delivered).toMatchObject([{ event: "paid", userId: "u1" }]);
});

test("live flags of another copy send the changes of an auth instance, and close with it", async () => {
  const host = await memoryHost();
  const { id } = await host.auth.api.createFeatureFlag({ body: flag({ enabled: true, defaultValue: "a" }) });
  const mounted = await mountLive(host, { mount: copy.liveFlags });
  onTestFinished(mounted.stopLive);
  const page = await livePage(mounted, await host.person("ann"));
  await page.sees("k", "a");
  await host.auth.api.updateFeatureFlag({ body: { id, defaultValue: "b" } });
  await expect.poll(() => page.valuesTold("k")).toEqual(["b"]);
});

test("metrics and plans of an auth instance know the subscribers of live flags of another copy", async () => {
  const host = await memoryHost();
  const { id } = await host.auth.api.createFeatureFlag({ body: flag({ enabled: true, defaultValue: "a" }) });
  const mounted = await mountLive(host, { mount: copy.liveFlags });
  onTestFinished(mounted.stopLive);
  const page = await livePage(mounted, await host.person("ann"));
  await page.sees("k", "a");
  expect(await host.auth.api.getFeatureFlagsMetrics()).toMatch(/^halyard_flags_live_subscribers 1$/m);
  const plan = () =>
    host.auth.api.planFeatureFlags({ body: { changes: [{ flagId: id, fields: { defaultValue: "b" } }] } });
  expect(await plan()).toMatchObject({ onlineSource: "live", changes: [{ moved: 1, online: 1 }] });
  mounted.endLive();
  expect(await plan()).toMatchObject({ onlineSource: "none" });
});

test("definitions for remote processes are served by another copy", async () => {
  const { auth } = await memoryHost();
  const { authenticate } = copy.flagDefinitions(auth);
  const refused = authenticate(new Request("http://localhost/definitions"), { token: "no key" });
  await expect(refused).rejects.toMatchObject({ name: "WsError", code: "UNAUTHENTICATED" });
});

test("a session that another copy follows ends at once when the user signs out", async () => {
  const { auth, person, call } = await memoryHost();
  const ann = await person("ann");
  const caller = await copy.findCaller(auth, { headers: new Headers(ann.headers) });
  if (caller === undefined) throw new Error("The session was not found.");
  let ended = "";
  const stop = await copy.followCaller(auth, caller, {
    changed: () => {},
    ended: (reason) => {
      ended = reason;
    },
  });
  onTestFinished(stop);
  await call("POST", "/sign-out", { as: ann, body: {} });
  expect(ended).not.toBe("");
});

test("forgetCaller of one copy ends at once what another copy follows", async () => {
  const { auth, db, person } = await memoryHost();
  const ann = await person("ann");
  const caller = await copy.findCaller(auth, { headers: new Headers(ann.headers) });
  if (caller === undefined) throw new Error("The session was not found.");
  let isEnded = false;
  const ended = () => {
    isEnded = true;
  };
  onTestFinished(await copy.followCaller(auth, caller, { changed: () => {}, ended }));
  db.exec("delete from session");
  await sessions.forgetCaller(auth, { userId: ann.id });
  expect(isEnded).toBe(true);
});

test("a bus that another copy connects announces the changes of an auth instance", async () => {
  const { auth, person, call } = await memoryHost();
  const published: string[] = [];
  const bus = { publish: async (text: string) => void published.push(text), subscribe: () => () => {} };
  onTestFinished(await copy.connectSessions(auth, bus));
  const ann = await person("ann");
  published.length = 0;
  await call("POST", "/sign-out", { as: ann, body: {} });
  await expect.poll(() => published.join()).toContain("session");
});

test("an error of one copy is an instance of the other copy's class", async () => {
  const error = new copy.IdentityError("unavailable", "The session store does not respond.");
  expect(error instanceof sessions.IdentityError).toBe(true);
  expect(new Error("IdentityError") instanceof sessions.IdentityError).toBe(false);
});

const PORT = Symbol.for("@halyard/flags");
const PARTS = Symbol.for("@halyard/sessions");

test("a plugin of another version is refused with the remedy", async () => {
  const { auth } = await memoryHost();
  const plugin = auth.options.plugins.find(({ id }) => id === "feature-flags") ?? {};
  const port: object = Reflect.get(plugin, PORT);
  Reflect.set(plugin, PORT, { ...port, version: 0 });
  const use = [
    () => flags.withFeatureFlags(auth),
    () => flags.closeFeatureFlags(auth),
    () => flags.verifyFeatureFlagAudit(auth),
  ];
  for (const call of use) await expect(async () => call()).rejects.toThrow("npm ls @halyard/flags");
  Reflect.set(plugin, PORT, port);
});

test("sessions that another version follows are refused with the remedy", async () => {
  const { auth } = await memoryHost();
  const { adapter } = await auth.$context;
  expect(Reflect.get(adapter, PARTS)).toMatchObject({ version: 1 });
  const other = { options: auth.options, api: auth.api, $context: Promise.resolve({ adapter: {} }) };
  Reflect.set((await other.$context).adapter, PARTS, { version: 0 });
  await expect(sessions.findCaller(other, { headers: new Headers() })).rejects.toThrow(
    "npm ls @halyard/sessions",
  );
});

test.each([
  ["withFeatureFlags", (auth: never) => flags.withFeatureFlags(auth)],
  ["createServerFlags", (auth: never) => flags.createServerFlags(auth)],
  ["verifyFeatureFlagAudit", (auth: never) => flags.verifyFeatureFlagAudit(auth)],
  ["liveFlags", async (auth: never) => (await import("@halyard/flags/live")).liveFlags(createRouter(), auth)],
] as const)("%s on an auth instance without the plugin says what to add", async (name, use) => {
  const { auth } = await memoryHost();
  const { evaluateFeatureFlag: _, ...api } = auth.api;
  const plugins = auth.options.plugins.filter(({ id }) => id !== "feature-flags");
  const without = { ...auth, api, options: { ...auth.options, plugins } };
  await expect(async () => use(without as never)).rejects.toThrow(
    `${name}: the auth instance has no featureFlags plugin. Add featureFlags() to its plugins.`,
  );
});
