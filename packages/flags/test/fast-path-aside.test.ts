/** Checks that the fast path leaves requests to Better Auth if the host could change the response. */
import { apiKey } from "@better-auth/api-key";
import { withFeatureFlags } from "@halyard/flags";
import { type BetterAuthPlugin, betterAuth } from "better-auth";
import { APIError, createAuthEndpoint, createAuthMiddleware } from "better-auth/api";
import { getMigrations } from "better-auth/db/migration";
import { toNextJsHandler } from "better-auth/next-js";
import { captcha } from "better-auth/plugins";
import { beforeAll, describe, expect, test } from "vitest";
import { hooksElsewhere, hooksForAll } from "./hook-plugins.ts";
import type { Host } from "./host.ts";
import { flag, suiteHost } from "./memory-host.ts";
import { wrapHost } from "./wrapped-host.ts";

let host: Host;
suiteHost({}, (started) => {
  host = started;
});
beforeAll(async () => {
  const plugins = [...host.auth.options.plugins, ...hooksElsewhere];
  await (await getMigrations({ ...host.auth.options, plugins })).runMigrations();
  await host.auth.api.createFeatureFlag({ body: flag({ enabled: true, defaultValue: "v" }) });
});

const nothing = createAuthMiddleware(async () => {});
const plugin = (fields: Partial<BetterAuthPlugin>): BetterAuthPlugin => ({ id: "other", ...fields });
const before = (matcher: (context: { path?: string; headers?: Headers | undefined }) => boolean) =>
  plugin({ hooks: { before: [{ matcher, handler: nothing }] } });

describe("the fast path is off, with the reason in the log and in health, and Better Auth answers if", () => {
  test.each<[string, Parameters<typeof wrapHost>[1], string]>([
    ["the host has a before hook", { auth: { hooks: { before: nothing } } }, "The host has hooks"],
    ["the host has an after hook", { auth: { hooks: { after: nothing } } }, "The host has hooks"],
    ["the host has onAPIError", { auth: { onAPIError: { onError: () => {} } } }, "onAPIError"],
    [
      "the base URL depends on the request",
      { auth: { baseURL: { allowedHosts: ["127.0.0.1:*"], fallback: "http://127.0.0.1" } } },
      "The base URL depends",
    ],
    ["a plugin has onRequest", { plugins: [plugin({ onRequest: async () => undefined })] }, "has onRequest"],
    [
      "a plugin has onResponse",
      { plugins: [plugin({ onResponse: async () => undefined })] },
      "has onResponse",
    ],
    [
      "a plugin has a middleware for all paths",
      { plugins: [plugin({ middlewares: [{ path: "/**", middleware: nothing }] })] },
      "has a middleware",
    ],
    ["a plugin has a hook for all requests", { plugins: [before(() => true)] }, "has hooks"],
    ["a plugin has a hook for some requests", { plugins: [before(() => false)] }, "has hooks"],
    [
      "a plugin has an after hook",
      { plugins: [plugin({ hooks: { after: [{ matcher: () => false, handler: nothing }] } })] },
      "has hooks",
    ],
    [
      "a plugin has an endpoint on a flags path",
      {
        plugins: [
          plugin({
            endpoints: {
              theirs: createAuthEndpoint("/feature-flags/evaluate", { method: "POST" }, async () => ({})),
            },
          }),
        ],
      },
      "answers /feature-flags/evaluate itself",
    ],
    [
      "API keys come from another header than x-api-key",
      { plugins: [apiKey({ enableSessionForAPIKeys: true, apiKeyHeaders: "x-other" })] },
      "elsewhere than x-api-key",
    ],
    [
      "API keys come from one of several headers",
      { plugins: [apiKey({ enableSessionForAPIKeys: true, apiKeyHeaders: ["x-api-key", "x-other"] })] },
      "elsewhere than x-api-key",
    ],
    [
      "API keys come from a function that accepts a header only with some values",
      {
        plugins: [
          apiKey({
            enableSessionForAPIKeys: true,
            customAPIKeyGetter: ({ headers }) =>
              /^Key (.+)/.exec(headers?.get("authorization") ?? "")?.[1] ?? null,
          }),
        ],
      },
      "elsewhere than x-api-key",
    ],
  ])("%s", async (_what, options, reason) => {
    const lines: string[] = [];
    const { ask, health } = await wrapHost(host, { ...options, log: (line) => lines.push(line) });
    for (let times = 0; times < 2; times++) {
      expect(await ask("evaluate", { flagKey: "k" })).toMatchObject({ status: 200, isFast: false });
    }
    const shown = await health();
    expect(shown).toMatchObject({ fastPath: "off", fastPathReason: expect.stringContaining(reason) });
    expect(
      lines.filter(
        (line) => line.includes("The fast path of withFeatureFlags is off") && line.includes(reason),
      ),
    ).toHaveLength(1);
  });

  test("a plugin's hook refuses requests by the value of a header or by the body, and so it does", async () => {
    const refuse = createAuthMiddleware(async () => {
      throw new APIError("FORBIDDEN");
    });
    const isRefused = (context: { body?: { flagKey?: string }; headers?: Headers | undefined }) =>
      context.headers?.get("x-real-ip") === "203.0.113.7" || context.body?.flagKey === "refused";
    const refusing = plugin({ hooks: { before: [{ matcher: isRefused, handler: refuse }] } });
    const { ask } = await wrapHost(host, { plugins: [refusing] });
    expect(await ask("evaluate", { flagKey: "k" })).toMatchObject({ status: 200 });
    expect(await ask("evaluate", { flagKey: "k" }, { "x-real-ip": "203.0.113.7" })).toMatchObject({
      status: 403,
    });
    expect(await ask("evaluate", { flagKey: "refused" })).toMatchObject({ status: 403 });
  });

  test("the option fastPath is false, which is not logged", async () => {
    const lines: string[] = [];
    const { ask, health } = await wrapHost(host, {
      flags: { fastPath: false },
      log: (line) => lines.push(line),
    });
    expect(await ask("evaluate", { flagKey: "k" })).toMatchObject({ status: 200, isFast: false });
    expect(await health()).toMatchObject({
      fastPath: "off",
      fastPathReason: "The option fastPath is false.",
    });
    expect(lines.filter((line) => line.includes("The fast path of withFeatureFlags is off"))).toEqual([]);
  });

  test("withFeatureFlags is not used", async () => {
    expect(await host.auth.api.getFeatureFlagsHealth()).toMatchObject({ fastPath: "off" });
  });
});

describe("the fast path is on if", () => {
  test.each<[string, Parameters<typeof wrapHost>[1]]>([
    ["the host has no other plugins", {}],
    [
      "plugins have middlewares for other paths",
      { plugins: [plugin({ middlewares: [{ path: "/sign-in/*", middleware: nothing }] })] },
    ],
    ...[...hooksElsewhere, ...hooksForAll].map((one): [string, Parameters<typeof wrapHost>[1]] => [
      `the host uses the plugin ${one.id}`,
      { plugins: [one] },
    ]),
    ["API keys are sessions, too", { plugins: [apiKey({ enableSessionForAPIKeys: true })] }],
    ["a captcha protects sign-in", { plugins: [captcha({ provider: "hcaptcha", secretKey: "s" })] }],
    [
      "fastPath is force, even with hooks",
      { auth: { hooks: { before: nothing } }, flags: { fastPath: "force" } },
    ],
  ])("%s", async (_what, options) => {
    const { ask, health } = await wrapHost(host, options);
    await ask("evaluate", { flagKey: "k" });
    const { status, isFast, json } = await ask("evaluate", { flagKey: "k" });
    expect({ status, isFast, value: json["value"] }).toEqual({ status: 200, isFast: true, value: "v" });
    expect(await health()).toMatchObject({ fastPath: "on" });
  });

  test("a path that the host disabled stays disabled, and others use the fast path", async () => {
    const { ask } = await wrapHost(host, { auth: { disabledPaths: ["/feature-flags/evaluate"] } });
    expect(await ask("evaluate", { flagKey: "k" })).toMatchObject({ status: 404, isFast: false });
    await ask("bootstrap", {});
    expect(await ask("bootstrap", {})).toMatchObject({ status: 200, isFast: true });
  });

  test("a path with a rate limit of the host has that limit, and others use the fast path", async () => {
    const customRules = { "/feature-flags/evaluate": { window: 60, max: 2 } };
    const { ask } = await wrapHost(host, { auth: { rateLimit: { enabled: true, customRules } } });
    const statuses = [];
    for (let times = 0; times < 3; times++) statuses.push((await ask("evaluate", { flagKey: "k" })).status);
    expect(statuses).toEqual([200, 200, 429]);
    await ask("bootstrap", {});
    expect(await ask("bootstrap", {})).toMatchObject({ status: 200, isFast: true });
  });
});

test.each(hooksElsewhere)(
  "the hooks of the plugin $id decide by the path alone, and not for flags",
  ({ hooks }) => {
    const all = [...(hooks?.before ?? []), ...(hooks?.after ?? [])];
    expect(all).not.toEqual([]);
    const operations = ["evaluate", "evaluate-batch", "bootstrap", "events", "events/batch", "exposures"];
    for (const operation of operations) {
      const pathOnly = new Proxy({} as Parameters<(typeof all)[number]["matcher"]>[0], {
        get(_, property) {
          if (property === "path") return `/feature-flags/${operation}`;
          throw new Error(`The matcher reads ${String(property)}.`);
        },
      });
      for (const { matcher } of all) expect(matcher(pathOnly)).toBe(false);
    }
  },
);

describe("withFeatureFlags", () => {
  test("throws without the plugin", () => {
    const auth = betterAuth({ ...host.auth.options, plugins: [] });
    expect(() => withFeatureFlags(auth)).toThrow("has no featureFlags plugin");
  });

  test("keeps the type and the members of the instance", async () => {
    const wrapped = withFeatureFlags(host.auth);
    const typed: typeof host.auth = wrapped;
    expect(typed.api).toBe(host.auth.api);
    expect(withFeatureFlags(wrapped)).toBe(wrapped);
    const response = await wrapped.handler(new Request(`${host.origin}/api/auth/ok`));
    expect(await response.json()).toEqual({ ok: true });
  });

  test("works as a handler of Next.js, and as fetch", async () => {
    const { auth, ask } = await wrapHost(host);
    await ask("evaluate", { flagKey: "k" });
    const request = () =>
      new Request(`${host.origin}/api/auth/feature-flags/evaluate`, {
        method: "POST",
        headers: { "content-type": "application/json", "content-length": "15" },
        body: '{"flagKey":"k"}',
      });
    for (const handle of [toNextJsHandler(auth).POST, auth.handler]) {
      expect(await (await handle(request())).json()).toMatchObject({ value: "v" });
    }
  });
});

test("a caller who disconnects in the middle of a body causes a 400 and no other failure", async () => {
  const { auth } = await wrapHost(host, {});
  const body = new ReadableStream({
    start: (stream) => stream.enqueue(new TextEncoder().encode('{"fla')),
    pull: (stream) => stream.error(new Error("The peer has closed the connection.")),
  });
  const headers = { "content-type": "application/json", "content-length": "50" };
  const url = `${host.origin}/api/auth/feature-flags/evaluate`;
  const sent: RequestInit & { duplex: "half" } = { method: "POST", headers, body, duplex: "half" };
  const gone = await auth.handler(new Request(url, sent));
  expect(gone.status).toBe(400);
  expect(await gone.json()).toMatchObject({ code: "VALIDATION_ERROR" });
});
