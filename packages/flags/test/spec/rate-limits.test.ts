/** Checks the rate limits: how many requests each caller has, who counts as one caller, and the host's settings. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Answer, Host, Person, RequestOptions } from "../host.ts";
import { flag, memoryHost, newKey } from "../memory-host.ts";
import { wrapHost } from "../wrapped-host.ts";
import { newFlag } from "./event-helpers.ts";

const ADMIN = "/feature-flags/admin";
const ON = { rateLimit: { enabled: true } };
const EVENT = { flagKey: "k", event: "e" };

// The clock of the rate limits moves only when a test advances it, so a slow machine does not end a window.
beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

let lastAddress = 0;
const newAddress = () => `198.18.${++lastAddress >> 8}.${lastAddress & 255}`;
const from = (address: string): RequestOptions => ({ headers: { "x-forwarded-for": address } });

/** Makes the calls, 50 at a time, and returns how many were not 429. */
async function passed(count: number, call: (at: number) => Promise<Pick<Answer, "status">>): Promise<number> {
  let allowed = 0;
  for (let at = 0; at < count; at += 50) {
    const calls = Array.from({ length: Math.min(50, count - at) }, (_, nth) => call(at + nth));
    for (const { status } of await Promise.all(calls)) if (status !== 429) allowed++;
  }
  return allowed;
}

const post = (host: Host, path: string, body: unknown, options: RequestOptions) =>
  host.call("POST", `/feature-flags/${path}`, { ...options, body });

describe("guide/flags-rate-limits: Default limits", () => {
  test.each([
    ["evaluate", 100, { flagKey: "k" }],
    ["evaluate-batch", 1000, { flagKeys: ["k"] }],
    ["bootstrap", 1000, {}],
    ["events", 1000, EVENT],
    ["events/batch", 100, { events: [EVENT] }],
    ["exposures", 1000, { exposures: ["token"] }],
  ])(
    "POST /feature-flags/%s permits %i requests in 60 s from one address",
    async (path, limit, body) => {
      const host = await memoryHost(ON);
      await newFlag(host, EVENT.flagKey);
      // Better Auth's router takes milliseconds of each request; the limit is the same without it.
      const wrapped = await wrapHost(host, { auth: ON });
      const address = newAddress();
      const ask = (from = address) => wrapped.ask(path, body, { "x-forwarded-for": from });
      expect(await passed(limit + 20, () => ask())).toBe(limit);
      const { status, headers, json, isFast } = await ask();
      expect([isFast, status, json["code"]]).toEqual([true, 429, "RATE_LIMIT_EXCEEDED"]);
      expect([headers.get("retry-after"), json["details"]]).toEqual(["60", { retryAfter: 60 }]);
      expect((await ask(newAddress())).status).toBe(200);
      vi.advanceTimersByTime(59_500);
      expect((await ask()).json["details"]).toEqual({ retryAfter: 1 });
      vi.advanceTimersByTime(500);
      expect((await ask()).status).toBe(200);
    },
    60_000,
  );

  test("POST /feature-flags/bootstrap permits 100 requests in 60 s by one user, from any number of addresses", async () => {
    const host = await memoryHost(ON);
    const as = await host.person("user");
    expect(await passed(120, () => post(host, "bootstrap", {}, { as, ...from(newAddress()) }))).toBe(100);
  });

  test("each rule has its own bucket", async () => {
    const host = await memoryHost(ON);
    const options = from(newAddress());
    await passed(100, () => post(host, "evaluate", { flagKey: "k" }, options));
    expect((await post(host, "evaluate-batch", { flagKeys: ["k"] }, options)).status).toBe(200);
    expect((await post(host, "bootstrap", {}, options)).status).toBe(200);
  });

  test("GET /feature-flags/health has no limit", async () => {
    const host = await memoryHost(ON);
    const options = from(newAddress());
    expect(await passed(120, () => host.call("GET", "/feature-flags/health", options))).toBe(120);
  });
});

describe("guide/flags-rate-limits: Default limits (admin)", () => {
  test("admin routes together permit 20 requests in 60 s by one user, for all flags, paths and methods", async () => {
    const host = await memoryHost(ON);
    const as = await host.person("admin", "admin");
    const call = (at: number) => {
      const id = `flag-${at}`;
      if (at % 3 === 0) return host.call("GET", `${ADMIN}/flags/${id}`, { as, ...from(newAddress()) });
      if (at % 3 === 1) return host.call("PATCH", `${ADMIN}/flags/${id}`, { as, body: { name: "N" } });
      return host.call("DELETE", `${ADMIN}/flags/${id}/rules/1`, { as });
    };
    expect(await passed(1000, call)).toBe(20);
    expect((await host.call("GET", `${ADMIN}/audit`, { as })).json.code).toBe("RATE_LIMIT_EXCEEDED");
  }, 60_000);

  test("each user has a separate admin limit, even behind one address", async () => {
    const host = await memoryHost(ON);
    const [one, two] = [await host.person("one", "admin"), await host.person("two", "admin")];
    const options = from(newAddress());
    const list = (as: Person) => host.call("GET", `${ADMIN}/flags`, { as, ...options });
    expect(await passed(30, () => list(one))).toBe(20);
    expect((await list(two)).status).toBe(200);
    expect((await host.call("GET", `${ADMIN}/flags`, options)).status).toBe(401);
  });

  test("refused admin requests count for the user, or for the address without a valid session or API key", async () => {
    const host = await memoryHost(ON);
    const user = await host.person("user");
    const list = (options: RequestOptions) => host.call("GET", `${ADMIN}/flags`, options);
    expect((await list({ as: user })).status).toBe(403);
    expect(await passed(30, () => list({ as: user }))).toBe(19);
    const stranger = from(newAddress());
    expect((await list(stranger)).status).toBe(401);
    expect(await passed(30, () => list(stranger))).toBe(19);
    const forger = from(newAddress());
    const headers = { ...forger.headers, "x-api-key": "forged" };
    expect((await list({ headers })).status).toBe(401);
    expect(await passed(30, (at) => list({ headers: { ...headers, "x-api-key": `forged ${at}` } }))).toBe(19);
    expect((await list(forger)).status).toBe(429);
  });

  test("a reserve of 20 requests is only for disabling flags", async () => {
    const host = await memoryHost(ON);
    const as = await host.person("admin", "admin");
    const { id } = await host.auth.api.createFeatureFlag({ body: flag({ key: newKey(), enabled: true }) });
    const patch = (body: object) => host.call("PATCH", `${ADMIN}/flags/${id}`, { as, body });
    expect(await passed(20, () => host.call("GET", `${ADMIN}/flags`, { as }))).toBe(20);
    expect((await patch({ enabled: true })).status).toBe(429);
    expect((await patch({ enabled: false, name: "N" })).status).toBe(429);
    expect((await patch({})).status).toBe(429);
    const { status, json } = await patch({ enabled: false });
    expect([status, json.enabled]).toEqual([200, false]);
    expect((await patch({ enabled: false, id })).status).toBe(200);
    expect(await passed(60, () => patch({ enabled: false }))).toBe(18);
    const { json: error } = await patch({ enabled: false });
    expect(error.details).toEqual({ retryAfter: 60 });
  });

  test("with the admin limit and the reserve used up, Retry-After names the first of the two windows to end", async () => {
    const host = await memoryHost(ON);
    const as = await host.person("admin", "admin");
    const turnOff = () => host.call("PATCH", `${ADMIN}/flags/1`, { as, body: { enabled: false } });
    expect(await passed(20, turnOff)).toBe(20);
    vi.advanceTimersByTime(50_000);
    expect(await passed(30, turnOff)).toBe(20);
    const { headers, json } = await turnOff();
    expect([headers.get("retry-after"), json.details]).toEqual(["10", { retryAfter: 10 }]);
    vi.advanceTimersByTime(10_000);
    expect((await turnOff()).status).toBe(404);
  });
});

describe("guide/flags-rate-limits: Rate limit key", () => {
  const evaluate = (host: Host, options: RequestOptions) => post(host, "evaluate", { flagKey: "k" }, options);

  test("callers in one IPv6 /64, or with one address in several notations, count as one", async () => {
    const host = await memoryHost(ON);
    const spelled = (at: number) =>
      [
        `2001:db8:0:7::${at.toString(16)}`,
        `2001:DB8:0:7:${at.toString(16)}::`,
        `2001:0db8::7:0:0:1.2.3.${at % 256}`,
      ][at % 3] ?? "";
    expect(await passed(130, (at) => evaluate(host, from(spelled(at))))).toBe(100);
    expect((await evaluate(host, from("2001:db8:0:8::1"))).status).toBe(200);
    const fours = ["192.0.2.77", "::ffff:192.0.2.77", "::FFFF:c000:24d", "0:0:0:0:0:ffff:192.0.2.77"];
    expect(await passed(130, (at) => evaluate(host, from(fours[at % 4] ?? "")))).toBe(100);
  });

  test("signed-in users do not count by their address", async () => {
    const host = await memoryHost(ON);
    const [one, two] = [await host.person("one"), await host.person("two")];
    const options = from(newAddress());
    expect(await passed(120, () => evaluate(host, { as: one, ...options }))).toBe(100);
    expect((await evaluate(host, { as: two, ...options })).status).toBe(200);
    expect((await evaluate(host, options)).status).toBe(200);
  });

  test("an API key has no limit unless the host sets one", async () => {
    const free = await memoryHost(ON);
    const owner = await free.person("owner", "admin");
    const as = await free.key({ userId: owner.id }, ["read"]);
    expect(await passed(110, () => evaluate(free, { as }))).toBe(110);
    expect(await passed(30, () => free.call("GET", `${ADMIN}/flags`, { as }))).toBe(30);

    const keys = { max: 5, windowSeconds: 60 };
    const limited = await memoryHost({ ...ON, flags: { rateLimit: { keys } } });
    const user = await limited.person("owner", "admin");
    const [one, two] = [
      await limited.key({ userId: user.id }, ["read"]),
      await limited.key({ userId: user.id }, ["read"]),
    ];
    expect(await passed(20, () => evaluate(limited, { as: one }))).toBe(5);
    expect((await evaluate(limited, { as: two })).status).toBe(200);
  });

  test("server calls have no limit, with or without headers", async () => {
    const { auth } = await memoryHost(ON);
    const headers = new Headers({ "x-forwarded-for": newAddress() });
    for (let call = 0; call < 110; call++) {
      await auth.api.evaluateFeatureFlag({ body: { flagKey: "k" } });
      await auth.api.evaluateFeatureFlag({ body: { flagKey: "k" }, headers });
      if (call < 30) await auth.api.listFeatureFlags({ query: {} });
    }
  });
});

describe("guide/flags-rate-limits: Options", () => {
  const evaluate = (host: Host, options: RequestOptions) => post(host, "evaluate", { flagKey: "k" }, options);

  test.each([
    ["rateLimit: false for the plugin", { ...ON, flags: { rateLimit: false as const } }],
    ["rateLimit.enabled: false for Better Auth", { rateLimit: { enabled: false } }],
    ["no setting outside of production", {}],
  ])("%s turns the limits of this plugin off", async (_name, options) => {
    const host = await memoryHost(options);
    const address = from(newAddress());
    expect(await passed(130, () => evaluate(host, address))).toBe(130);
    expect(await passed(30, () => host.call("GET", `${ADMIN}/flags`, address))).toBe(30);
  });

  test("rules change a limit or remove it", async () => {
    const rules = { evaluate: { max: 7, windowSeconds: 30 }, "events-batch": false as const };
    const host = await memoryHost({ ...ON, flags: { rateLimit: { rules } } });
    const address = from(newAddress());
    expect(await passed(20, () => evaluate(host, address))).toBe(7);
    expect((await evaluate(host, address)).json.details).toEqual({ retryAfter: 30 });
    expect(await passed(120, () => post(host, "events/batch", { events: [EVENT] }, address))).toBe(120);
    await expect(
      memoryHost({ flags: { rateLimit: { rules: { admin: { max: 0, windowSeconds: 1 } } } } }),
    ).rejects.toThrow(/rateLimit/);
  });

  test("customRules of Better Auth replace the limits for the paths they match", async () => {
    const customRules = {
      "/feature-flags/evaluate": { window: 60, max: 3 },
      "/feature-flags/evaluate-*": { window: 60, max: 30 },
      "/feature-flags/bootstrap": false as const,
    };
    const rules = {
      "evaluate-batch": { max: 10, windowSeconds: 60 },
      "bootstrap-anonymous": { max: 10, windowSeconds: 60 },
    };
    const host = await memoryHost({
      rateLimit: { enabled: true, customRules },
      flags: { rateLimit: { rules } },
    });
    const address = from(newAddress());
    expect(await passed(20, () => evaluate(host, address))).toBe(3);
    expect(await passed(50, () => post(host, "evaluate-batch", { flagKeys: ["k"] }, address))).toBe(30);
    expect(await passed(50, () => post(host, "bootstrap", {}, address))).toBe(50);
    expect(await passed(50, () => host.call("GET", `${ADMIN}/flags`, address))).toBe(20);
  });

  test("Better Auth's limits apply to all other paths", async () => {
    const host = await memoryHost({
      rateLimit: { enabled: true, customRules: { "/ok": { window: 60, max: 5 } } },
    });
    const address = from(newAddress());
    expect(await passed(20, () => host.call("GET", "/ok", address))).toBe(5);
  });
});
