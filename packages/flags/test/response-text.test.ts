/** Checks what Better Auth and its hooks see of an evaluation: text over HTTP, and an object where a hook reads it. */
import { withFeatureFlags } from "@halyard/flags";
import { createAuthMiddleware } from "better-auth/api";
import { beforeAll, expect, test } from "vitest";
import type { Host } from "./host.ts";
import { flag, suiteHost } from "./memory-host.ts";
import { wrapHost } from "./wrapped-host.ts";

let host: Host;
suiteHost({}, (started) => {
  host = started;
});
beforeAll(async () => {
  await host.auth.api.createFeatureFlag({ body: flag({ enabled: true, defaultValue: "v" }) });
});

const BODIES = { evaluate: { flagKey: "k" }, "evaluate-batch": { flagKeys: ["k"] }, bootstrap: {} };

function recorder(seen: unknown[]) {
  return createAuthMiddleware(async (context) => {
    seen.push(context.context.returned);
  });
}

test("an after hook of the host, or of a plugin, gets the result of an evaluation as an object", async () => {
  const seen: unknown[] = [];
  const hook = { matcher: () => true, handler: recorder(seen) };
  const hosts = [
    await wrapHost(host, { auth: { hooks: { after: recorder(seen) } } }),
    await wrapHost(host, { plugins: [{ id: "other", hooks: { after: [hook] } }] }),
  ];
  for (const { ask } of hosts) {
    for (const [path, body] of Object.entries(BODIES)) {
      const { json } = await ask(path, body);
      expect(seen.pop()).toEqual(json);
      expect(seen).toEqual([]);
    }
  }
});

test("a call of auth.api with a request gets an object", async () => {
  const request = new Request(`${host.origin}/api/auth/feature-flags/evaluate`, { method: "POST" });
  const call = { request, headers: request.headers, asResponse: false as const, body: BODIES.evaluate };
  expect(await host.auth.api.evaluateFeatureFlag(call)).toMatchObject({ value: "v" });
});

test("the fast path is off, and health says why, when Better Auth's context lacks what it relies on", async () => {
  const wrapped = await wrapHost(host);
  expect(await wrapped.health()).toMatchObject({ fastPath: "on" });
  const context = Object.assign(Object.create(await wrapped.auth.$context), { isTrustedOrigin: undefined });
  const changed = { ...wrapped.auth, $context: Promise.resolve(context) };
  withFeatureFlags(changed as unknown as Parameters<typeof withFeatureFlags>[0]);
  await changed.$context;
  await expect
    .poll(() => wrapped.health())
    .toMatchObject({ fastPath: "off", fastPathReason: expect.stringContaining("isTrustedOrigin") });
});
