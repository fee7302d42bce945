/** Checks that reads return the newest available value and never fail. */
import { defineFlags, type FlagsBootstrap } from "@halyard/flags/client";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { BOOTSTRAP, bootstrapAnswer, createClient, createNetwork, gate } from "./kit.ts";

const ORIGIN = "http://app.test";

beforeEach(() => {
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  vi.useRealTimers();
});

/** A client whose server returns these values. */
function withValues(values: Record<string, unknown>, options = {}) {
  const made = createClient(ORIGIN, { exposures: false, ...options });
  made.network.intercept = () => bootstrapAnswer(values);
  return made;
}

const rendered = (
  values: Record<string, unknown>,
  evaluatedAt = "2026-01-01T00:00:00.000Z",
): FlagsBootstrap => ({
  flags: Object.fromEntries(Object.entries(values).map(([key, value]) => [key, { value: value as string }])),
  evaluatedAt,
});

describe("the first fetch", () => {
  test("serves any number of concurrent and later reads", async () => {
    const { flags, network } = withValues({ on: true, text: "t" });
    const reads = Array.from({ length: 50 }, (_, at) =>
      at % 2 ? flags.getValue("text") : flags.isEnabled("on"),
    );
    expect(new Set(await Promise.all(reads))).toEqual(new Set([true, "t"]));
    await flags.getVariant("on");
    expect(network.paths).toEqual([BOOTSTRAP]);
  });

  test("includes disabled flags, so that reads can distinguish them from flags that do not exist", async () => {
    const { flags, network } = withValues({});
    await flags.getValue("x");
    expect(network.bodies[0]).toMatchObject({ includeDisabled: true });
  });

  test("sends the context, the environment and the anonymous visitor's id", async () => {
    const context = { attributes: { plan: "pro" } };
    const { flags, network } = withValues({}, { context, environment: "beta", anonymousId: "visitor-1" });
    await flags.getValue("x");
    expect(network.bodies[0]).toMatchObject({
      context: { ...context, anonymousId: "visitor-1" },
      environment: "beta",
    });
  });

  test("is replaced by every bootstrap(), which always sends a request", async () => {
    const { flags, network } = withValues({ a: 1 });
    expect(await flags.bootstrap()).toEqual({ a: 1 });
    network.intercept = () => bootstrapAnswer({ a: 2 });
    expect(await flags.getValue("a")).toBe(1);
    expect(await flags.bootstrap()).toEqual({ a: 2 });
    expect(await flags.getValue("a")).toBe(2);
    expect(network.count(BOOTSTRAP)).toBe(2);
  });
});

describe("a value", () => {
  test("is the caller's default only for a flag that does not exist", async () => {
    const { flags } = withValues({ off: false, zero: 0, empty: "", nothing: null });
    expect(await flags.isEnabled("off", true)).toBe(false);
    expect(await flags.getValue("zero", 5)).toBe(0);
    expect(await flags.getValue("empty", "full")).toBe("");
    expect(await flags.getValue("nothing", "something")).toBeNull();
    expect(await flags.getValue("unknown", "mine")).toBe("mine");
    expect(await flags.getValue("unknown")).toBeUndefined();
    expect(await flags.isEnabled("unknown")).toBe(false);
  });

  test("that is not boolean makes isEnabled return the default and warn in development", async () => {
    const { flags } = withValues({ text: "true", one: 1 });
    expect(await flags.isEnabled("text")).toBe(false);
    expect(await flags.isEnabled("one", true)).toBe(true);
    expect(console.warn).toHaveBeenCalledWith(expect.stringContaining('isEnabled("text")'));
  });

  test("is read correctly under the name of a prototype member", async () => {
    const { flags, network } = withValues({});
    network.intercept = () =>
      new Response(
        '{"flags":{"__proto__":{"value":"p"},"constructor":{"value":"c"}},"evaluatedAt":"2026-01-01T00:00:00.000Z"}',
        {
          headers: { "content-type": "application/json" },
        },
      );
    expect(await flags.getValue("__proto__")).toBe("p");
    expect(await flags.getValue("constructor")).toBe("c");
    expect(await flags.getValue("toString")).toBeUndefined();
    expect(Object.entries(await flags.bootstrap())).toEqual([
      ["__proto__", "p"],
      ["constructor", "c"],
    ]);
  });

  test("or a variant that does not fit its declaration is ignored with a warning", async () => {
    const declared = defineFlags({
      limit: { type: "number", default: 7 },
      search: { type: "string", values: ["a", "b"], default: "a" },
      ok: { type: "string", variants: ["x"] },
    });
    const network = createNetwork();
    const { flags } = createClient(ORIGIN, { flags: declared, network, exposures: false });
    network.intercept = () =>
      Response.json({
        flags: { limit: { value: "7" }, search: { value: "c" }, ok: { value: "v", variant: "y" } },
        evaluatedAt: "2026-01-01T00:00:00.000Z",
      });
    expect(await flags.getValue("limit")).toBe(7);
    expect(await flags.getValue("limit", 9)).toBe(9);
    expect(await flags.getValue("search")).toBe("a");
    expect(await flags.getValue("ok")).toBe("v");
    expect(await flags.getVariant("ok")).toBeNull();
    expect(console.warn).toHaveBeenCalledTimes(3);
  });
});

describe("without a response", () => {
  test.for([
    ["no network", () => Promise.reject(new TypeError("fetch failed"))],
    ["an error", () => Response.json({ code: "STORAGE_ERROR", message: "m" }, { status: 500 })],
    ["an invalid body", () => new Response("<h1>Hello</h1>", { headers: { "content-type": "text/html" } })],
    ["broken JSON", () => new Response("{", { headers: { "content-type": "application/json" } })],
    ["a list", () => Response.json([1])],
  ] as const)("but %s, reads give the declared or the caller's default", async ([, intercept]) => {
    const declared = defineFlags({ on: { type: "boolean", default: true }, text: { type: "string" } });
    const { flags, network } = createClient(ORIGIN, { flags: declared });
    network.intercept = intercept;
    expect(await flags.isEnabled("on")).toBe(true);
    expect(await flags.isEnabled("on", false)).toBe(false);
    expect(await flags.getValue("text", "d")).toBe("d");
    expect(await flags.getVariant("text")).toBeNull();
    expect(await flags.bootstrap()).toEqual({});
    expect(flags.values().status()).toBe("error");
  });

  test("in time, reads return the default", async () => {
    const never = gate();
    const { flags, network } = createClient(ORIGIN, { timeoutMs: 30 });
    network.intercept = (_path, { signal }) =>
      new Promise((_resolve, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
    expect(await flags.getValue("x", "d")).toBe("d");
    never.open();
  });

  test("reads retry after a delay that grows with each failure", async () => {
    vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] });
    const { flags, network } = createClient(ORIGIN);
    network.isDown = true;
    for (let read = 0; read < 5; read++) await flags.getValue("x");
    expect(network.count(BOOTSTRAP)).toBe(1);
    vi.advanceTimersByTime(1_001);
    for (let read = 0; read < 5; read++) await flags.getValue("x");
    expect(network.count(BOOTSTRAP)).toBe(2);
    vi.advanceTimersByTime(1_001);
    await flags.getValue("x");
    expect(network.count(BOOTSTRAP)).toBe(2);
    vi.advanceTimersByTime(1_001);
    network.isDown = false;
    network.intercept = () => bootstrapAnswer({ x: "there" });
    expect(await flags.getValue("x")).toBe("there");
  });

  test("the last values stay, with the status stale, until the server responds again", async () => {
    const { flags, network } = withValues({ a: "known" });
    expect(await flags.getValue("a")).toBe("known");
    network.isDown = true;
    expect(await flags.bootstrap()).toEqual({ a: "known" });
    expect(await flags.getValue("a", "mine")).toBe("known");
    expect(flags.values().status()).toBe("stale");
    network.isDown = false;
    await flags.bootstrap();
    expect(flags.values().status()).toBe("ready");
  });
});

describe("the page's bootstrap", () => {
  test("is read without a request", async () => {
    const { flags, network } = withValues({}, { bootstrap: rendered({ a: "rendered" }) });
    expect(await flags.getValue("a")).toBe("rendered");
    expect([network.paths, flags.values().status()]).toEqual([[], "ready"]);
  });

  test("is replaced by fetched values, and stays if the server does not respond", async () => {
    const { flags, network } = withValues({ a: "fetched" }, { bootstrap: rendered({ a: "rendered" }) });
    network.isDown = true;
    expect(await flags.bootstrap()).toEqual({ a: "rendered" });
    network.isDown = false;
    expect(await flags.bootstrap()).toEqual({ a: "fetched" });
    flags.values().hydrate(rendered({ a: "older" }));
    expect(await flags.getValue("a")).toBe("fetched");
    flags.values().hydrate(rendered({ a: "newer" }, "2999-01-01T00:00:00.000Z"));
    expect(await flags.getValue("a")).toBe("newer");
  });
});

describe("listeners", () => {
  test("get the keys that changed, and are not called without a change", async () => {
    const { flags, network } = withValues({ a: 1, b: { deep: [1] }, c: "gone soon" });
    await flags.bootstrap();
    const values = flags.values();
    const told: (readonly string[])[] = [];
    const stop = values.subscribe((changed) => told.push(changed));
    const [all, b] = [values.all(), values.read("b")];
    await flags.bootstrap();
    expect(told).toEqual([]);
    expect([values.all(), values.read("b")]).toEqual([all, b]);
    expect(values.all()).toBe(all);
    network.intercept = () => bootstrapAnswer({ a: 2, b: { deep: [1] }, d: "new" });
    await flags.bootstrap();
    expect(told).toEqual([["a", "d", "c"]]);
    expect(values.read("b")).toBe(b);
    stop();
    await flags.bootstrap();
    expect(told).toHaveLength(1);
  });

  test("make the client fetch without a read, and again after a failure", async () => {
    vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] });
    const { flags, network } = withValues({ a: 1 });
    network.isDown = true;
    const values = flags.values();
    values.subscribe(() => undefined);
    await vi.waitFor(() => expect(values.status()).toBe("error"), 10_000);
    network.isDown = false;
    await vi.advanceTimersByTimeAsync(1_001);
    await vi.waitFor(() => expect(values.read("a")?.value).toBe(1), 10_000);
    expect(values.status()).toBe("ready");
  });
});

describe("local overrides", () => {
  test("take effect immediately, without a request, until clearOverrides", async () => {
    const { flags, network } = withValues({ a: "server" });
    await flags.getValue("a");
    expect(flags.setOverride("a", "local")).toBeUndefined();
    flags.setOverride("only-here", null);
    expect(await flags.getValue("a")).toBe("local");
    expect(await flags.getValue("only-here", "d")).toBeNull();
    expect(flags.values().all()).toEqual({ a: "local", "only-here": null });
    flags.clearOverrides();
    expect(await flags.getValue("a")).toBe("server");
    expect(network.count(BOOTSTRAP)).toBe(1);
  });

  test.for(["production", "staging", "", undefined])(
    "have no effect if NODE_ENV is %s",
    async (environment) => {
      const { flags } = withValues({ a: "server" });
      flags.setOverride("a", "set in development");
      vi.stubEnv("NODE_ENV", environment);
      flags.setOverride("a", "local");
      expect(await flags.getValue("a")).toBe("server");
      expect(flags.values().all()).toEqual({ a: "server" });
    },
  );
});
