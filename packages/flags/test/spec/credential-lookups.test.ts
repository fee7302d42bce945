/** Checks that invalid credentials and refused requests cost a bounded number of database reads. */
import type { FeatureFlagsRateLimit } from "@halyard/flags";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Answer, Host, Person, RequestOptions } from "../host.ts";
import { memoryHost } from "../memory-host.ts";
import { wrapHost } from "../wrapped-host.ts";

const HEALTH = "/feature-flags/health";
const METRICS = "/feature-flags/metrics";
const FLAGS = "/feature-flags/admin/flags";
const ADDRESS = "203.0.113.7";
const from = (address: string, headers: Record<string, string> = {}): RequestOptions => ({
  headers: { "x-forwarded-for": address, ...headers },
});
const guess = (at: number, address = ADDRESS) => from(address, { "x-api-key": `guess-${at}` });

// The clock of the rate limits moves only when a test advances it, so a slow machine does not end a window.
beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

function limitedHost(rateLimit?: FeatureFlagsRateLimit) {
  return memoryHost({ rateLimit: { enabled: true }, ...(rateLimit && { flags: { rateLimit } }) });
}

/** Counts the reads of credentials. */
function countLookups({ adapter }: Host): { take(): number } {
  let lookups = 0;
  for (const method of ["findOne", "findMany"] as const) {
    const read = adapter[method].bind(adapter) as (query: { model: string }) => Promise<unknown>;
    Reflect.set(adapter, method, (query: { model: string }) => {
      if (["apikey", "session"].includes(query.model)) lookups += 1;
      return read(query);
    });
  }
  return {
    take() {
      const taken = lookups;
      lookups = 0;
      return taken;
    },
  };
}

async function statusesOf(
  count: number,
  call: (at: number) => Promise<Answer>,
): Promise<Record<number, number>> {
  const statuses: Record<number, number> = {};
  for (let at = 0; at < count; at++) {
    const { status } = await call(at);
    statuses[status] = (statuses[status] ?? 0) + 1;
  }
  return statuses;
}

const evaluate = (host: Host, options: RequestOptions) =>
  host.call("POST", "/feature-flags/evaluate", { ...options, body: { flagKey: "k" } });

describe("guide/flags-rate-limits: Invalid credentials", () => {
  test("100 invalid API keys of an address are looked up in 60 s; further ones cost no lookup", async () => {
    const host = await limitedHost();
    const lookups = countLookups(host);
    expect(await statusesOf(130, (at) => host.call("GET", METRICS, guess(at)))).toEqual({
      401: 100,
      429: 30,
    });
    expect(lookups.take()).toBe(100);
    expect(await statusesOf(30, (at) => evaluate(host, guess(at)))).toEqual({ 429: 30 });
    const list = await host.call("GET", FLAGS, guess(1));
    expect([list.status, list.json.code, list.json.details]).toEqual([
      429,
      "RATE_LIMIT_EXCEEDED",
      { retryAfter: 60 },
    ]);
    expect(list.headers.get("retry-after")).toBe("60");
    expect(lookups.take()).toBe(0);
    vi.advanceTimersByTime(60_000);
    expect((await host.call("GET", METRICS, guess(1))).status).toBe(401);
    expect(lookups.take()).toBe(1);
  });

  test("health answers its short form beyond the limit, also to a valid key that is new", async () => {
    const host = await limitedHost();
    const owner = await host.person("owner", "admin");
    const { headers } = await host.key({ userId: owner.id }, ["read"]);
    const lookups = countLookups(host);
    expect(await statusesOf(150, (at) => host.call("GET", HEALTH, guess(at)))).toEqual({ 200: 150 });
    expect(lookups.take()).toBe(100);
    const { status, json } = await host.call("GET", HEALTH, from(ADDRESS, headers));
    expect([status, Object.keys(json)]).toEqual([200, ["status", "version"]]);
    expect((await host.call("GET", HEALTH, from("203.0.113.8", headers))).json).toHaveProperty("revision");
  });

  test("bearer tokens that are no session count, a cookie with a wrong signature costs no lookup and does not", async () => {
    const host = await limitedHost({ rules: { evaluate: false } });
    const lookups = countLookups(host);
    const cookie = (at: number) => from(ADDRESS, { cookie: `better-auth.session_token=guess-${at}.wrong` });
    expect(await statusesOf(120, (at) => evaluate(host, cookie(at)))).toEqual({ 200: 120 });
    expect(lookups.take()).toBe(0);
    const bearer = (at: number) => from(ADDRESS, { authorization: `Bearer guess-${at}` });
    expect(await statusesOf(120, (at) => evaluate(host, bearer(at)))).toEqual({ 200: 100, 429: 20 });
    expect(lookups.take()).toBe(100);
  });

  test("anonymous callers, other addresses and callers who were verified before are not concerned", async () => {
    const host = await limitedHost();
    const owner = await host.person("owner", "admin");
    // Such a key is never in the principal cache, because the key plugin counts its use.
    const { key } = await host.auth.api.createApiKey({
      body: { userId: owner.id, remaining: 1000, permissions: { featureFlag: ["read"] } },
    });
    const known = [from(ADDRESS, owner.headers), from(ADDRESS, { "x-api-key": key })];
    const statuses = async (callers: RequestOptions[]) =>
      Promise.all(callers.map(async (caller) => (await host.call("GET", FLAGS, caller)).status));
    expect(await statuses(known)).toEqual([200, 200]);
    await statusesOf(110, (at) => host.call("GET", METRICS, guess(at)));
    expect(await statuses([guess(1), ...known, guess(1, "203.0.113.9")])).toEqual([429, 200, 200, 401]);
    expect((await evaluate(host, from(ADDRESS))).status).toBe(200);
  });

  test("both paths answer alike: the fast path serves who is in the principal cache and passes on the rest", async () => {
    const host = await memoryHost();
    const wrapped = await wrapHost(host, {
      auth: { rateLimit: { enabled: true } },
      flags: { rateLimit: { rules: { credentials: { max: 3, windowSeconds: 60 } } } },
    });
    const { headers } = await host.person("ada");
    const ask = async (more: Record<string, string>) => {
      const { status, isFast } = await wrapped.ask(
        "evaluate",
        { flagKey: "k" },
        {
          "x-forwarded-for": ADDRESS,
          ...more,
        },
      );
      return [status, isFast];
    };
    expect(await ask(headers)).toEqual([200, false]);
    for (let at = 0; at < 3; at++) expect(await ask({ "x-api-key": `guess-${at}` })).toEqual([401, false]);
    expect(await ask({ "x-api-key": "guess-3" })).toEqual([429, false]);
    expect(await ask(headers)).toEqual([200, true]);
    expect(await ask({})).toEqual([200, true]);
  });

  test("requests with credentials to health and metrics have the limit `monitoring`, valid ones too", async () => {
    const host = await limitedHost({ rules: { monitoring: { max: 5, windowSeconds: 60 } } });
    const owner = await host.person("owner", "admin");
    const lookups = countLookups(host);
    const options = from(ADDRESS, owner.headers);
    const isFull = async () => "revision" in (await host.call("GET", HEALTH, options)).json;
    const answers: boolean[] = [];
    for (let at = 0; at < 8; at++) answers.push(await isFull());
    expect(answers).toEqual([true, true, true, true, true, false, false, false]);
    const read = lookups.take();
    expect((await host.call("GET", METRICS, options)).status).toBe(429);
    expect(await statusesOf(20, () => host.call("GET", HEALTH, from(ADDRESS)))).toEqual({ 200: 20 });
    expect([read > 0, lookups.take()]).toEqual([true, 0]);
  });

  test("a user over a limit is refused without a lookup of the session", async () => {
    const host = await limitedHost();
    const [user, admin]: Person[] = [await host.person("user"), await host.person("admin", "admin")];
    const options = from(ADDRESS, user?.headers);
    expect(await statusesOf(100, () => evaluate(host, options))).toEqual({ 200: 100 });
    const list = () => host.call("GET", FLAGS, from(ADDRESS, admin?.headers));
    expect(await statusesOf(20, list)).toEqual({ 200: 20 });
    const lookups = countLookups(host);
    expect(await statusesOf(50, () => evaluate(host, options))).toEqual({ 429: 50 });
    expect(await statusesOf(50, list)).toEqual({ 429: 50 });
    expect(lookups.take()).toBe(0);
  });

  test("are counted in halyard_flags_rate_limited_total by rule", async () => {
    const host = await limitedHost({ rules: { credentials: { max: 2, windowSeconds: 60 } } });
    await statusesOf(5, (at) => host.call("GET", HEALTH, guess(at)));
    const metrics = await host.auth.api.getFeatureFlagsMetrics();
    expect(metrics).toContain('halyard_flags_rate_limited_total{rule="credentials"} 3');
  });

  test("have no limit with `credentials: false`", async () => {
    const host = await limitedHost({ rules: { credentials: false } });
    expect(await statusesOf(120, (at) => host.call("GET", METRICS, guess(at)))).toEqual({ 401: 120 });
  });
});
