/** Checks that a clock which jumps ends overrides and sessions by its new time, and nothing else. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Host } from "./host.ts";
import { flag, memoryHost } from "./memory-host.ts";
import { wrapHost } from "./wrapped-host.ts";

const HOUR_MS = 3_600_000;
/** Past 2^31 seconds, and within a session that lasts a hundred years. */
const IN_2038 = Date.parse("2038-02-01T00:00:00Z");
const JUMPS = [
  ["an hour ahead", () => Date.now() + HOUR_MS],
  ["an hour back", () => Date.now() - HOUR_MS],
  ["to 2038", () => IN_2038],
] as const;

// Only the wall clock: intervals use the monotonic clock, which does not jump.
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

async function overridden(host: Host, expiresAt: number): Promise<() => Promise<unknown>> {
  const { id } = await host.auth.api.createFeatureFlag({
    body: flag({ enabled: true, defaultValue: "all" }),
  });
  await host.auth.api.createFeatureFlagOverride({
    body: { flagId: id, userId: "u", value: "one", expiresAt: new Date(expiresAt).toISOString() },
  });
  return async () =>
    (await host.auth.api.evaluateFeatureFlag({ body: { flagKey: "k", context: { userId: "u" } } })).value;
}

test("an override ends by the server's clock, whichever way it jumps", async () => {
  const host = await memoryHost();
  const value = await overridden(host, Date.now() + HOUR_MS / 2);
  expect(await value()).toBe("one");
  vi.setSystemTime(Date.now() + HOUR_MS);
  expect(await value()).toBe("all");
  vi.setSystemTime(Date.now() - HOUR_MS);
  expect(await value()).toBe("one");
  vi.setSystemTime(IN_2038);
  expect(await value()).toBe("all");
});

test("an override of an hour lasts an hour over the change to summer time", async () => {
  vi.stubEnv("TZ", "America/New_York");
  const before = Date.parse("2027-03-14T06:30:00Z");
  vi.setSystemTime(before);
  const value = await overridden(await memoryHost(), before + HOUR_MS);
  vi.setSystemTime(before + HOUR_MS - 1);
  expect(await value()).toBe("one");
  vi.setSystemTime(before + HOUR_MS + 1);
  expect(await value()).toBe("all");
  vi.unstubAllEnvs();
});

describe.each(JUMPS)("after a jump %s", (_name, jump) => {
  test("a rate limit neither ends early nor lasts longer than its window", async () => {
    const rules = { evaluate: { max: 2, windowSeconds: 60 } };
    const host = await memoryHost({ rateLimit: { enabled: true }, flags: { rateLimit: { rules } } });
    const evaluate = () => host.evaluate({ flagKey: "k" });
    for (let at = 0; at < 2; at++) expect((await evaluate()).status).toBe(200);
    vi.setSystemTime(jump());
    const refused = await evaluate();
    expect(refused.status).toBe(429);
    const seconds = Number(refused.headers.get("retry-after"));
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThanOrEqual(60);
  });

  test("flags are current, change at once and are audited in order", async () => {
    const host = await memoryHost();
    const { id } = await host.auth.api.createFeatureFlag({
      body: flag({ enabled: true, defaultValue: "old" }),
    });
    const evaluate = () => host.auth.api.evaluateFeatureFlag({ body: { flagKey: "k" } });
    expect((await evaluate()).value).toBe("old");
    vi.setSystemTime(jump());
    expect((await evaluate()).metadata.stale).toBeUndefined();
    await host.auth.api.updateFeatureFlag({ body: { id, defaultValue: "new" } });
    expect((await evaluate()).value).toBe("new");
    const { entries } = await host.auth.api.listFeatureFlagAuditEntries({ query: {} });
    expect(entries.map(({ action }) => action)).toEqual(["flag.updated", "flag.created"]);
  });

  test("the fast path identifies the caller as Better Auth does", async () => {
    const host = await memoryHost();
    const user = await host.person("user");
    await host.auth.api.createFeatureFlag({ body: flag({ enabled: true, defaultValue: "v" }) });
    const { ask } = await wrapHost(host);
    const body = { flagKey: "k", contextInResponse: true };
    const idOf = (json: Record<string, unknown>) => (json["context"] as { userId?: string }).userId;
    await ask("evaluate", body, user.headers);
    expect(idOf((await ask("evaluate", body, user.headers)).json)).toBe(user.id);
    vi.setSystemTime(jump());
    const ordinary = await host.call("POST", "/feature-flags/evaluate", { as: user, body });
    const fast = await ask("evaluate", body, user.headers);
    expect([fast.status, idOf(fast.json)]).toEqual([ordinary.status, idOf(ordinary.json)]);
  });
});
