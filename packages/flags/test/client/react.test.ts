/** Checks the hooks on a server, with the page's bootstrap, and in a browser, with a client. */
import { type FlagsBootstrap, featureFlagsClient } from "@halyard/flags/client";
import {
  FeatureFlagsProvider,
  useFeatureFlag,
  useFeatureFlagDetails,
  useFeatureFlags,
  useVariant,
} from "@halyard/flags/react";
import { launchChromium } from "@halyard/services";
import { createAuthClient } from "better-auth/client";
import { build } from "esbuild";
import { createElement } from "react";
import { renderToString } from "react-dom/server";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { type EventServer, startEventServer } from "./event-server.ts";
import { bootstrapAnswer, createClient, gate } from "./kit.ts";

const bootstrap: FlagsBootstrap = {
  flags: { a: { value: "rendered", variant: "v", reason: "rule_match" }, n: { value: null } },
  evaluatedAt: "2026-01-01T00:00:00.000Z",
};

/** A component with every hook. */
function Hooks() {
  const { value, status, reason } = useFeatureFlagDetails("a", "default");
  const shown = [useFeatureFlag("a", "default"), useFeatureFlag("n", "default"), useFeatureFlag("unknown")];
  return createElement(
    "p",
    null,
    JSON.stringify([...shown, useFeatureFlags(), useVariant("a"), value, status, reason]),
  );
}

const render = (
  client: Parameters<typeof FeatureFlagsProvider>[0]["client"],
  given?: FlagsBootstrap,
): unknown => {
  const element = createElement(FeatureFlagsProvider, { client, bootstrap: given }, createElement(Hooks));
  return JSON.parse(
    renderToString(element)
      .replace(/<\/?p>/g, "")
      .replaceAll("&quot;", '"'),
  );
};

describe("on a server", () => {
  test("the hooks return the values of the page's bootstrap", () => {
    const client = createAuthClient({ baseURL: "http://app.test", plugins: [featureFlagsClient()] });
    expect(render(client, bootstrap)).toEqual([
      "rendered",
      null,
      null,
      { a: "rendered", n: null },
      { key: "v" },
      "rendered",
      "ready",
      "rule_match",
    ]);
  });

  test("without a bootstrap the hooks return defaults and the status loading", () => {
    const { client } = createClient("http://app.test");
    expect(render(client)).toEqual(["default", "default", null, {}, null, "default", "loading", null]);
  });

  test("one client for all requests never shows a visitor the values of another", async () => {
    const { client, flags, network } = createClient("http://app.test");
    network.intercept = () => bootstrapAnswer({ a: "fetched for somebody" });
    await flags.getValue("a");
    const ofAda: FlagsBootstrap = { ...bootstrap, flags: { a: { value: "for ada" } } };
    expect(render(client, ofAda)).toContain("for ada");
    const ofBob: FlagsBootstrap = { ...bootstrap, flags: { a: { value: "for bob" } } };
    expect(render(client, ofBob)).toContain("for bob");
    expect(render(client)).toEqual(["default", "default", null, {}, null, "default", "loading", null]);
    expect(await flags.getValue("a")).toBe("fetched for somebody");
  });

  test("a hook without a provider throws an error that names the provider", () => {
    expect(() => renderToString(createElement(Hooks))).toThrow("<FeatureFlagsProvider client={…}>");
  });
});

describe("in a browser, under StrictMode", () => {
  type Browser = Awaited<ReturnType<typeof launchChromium>>;
  type Page = Awaited<ReturnType<Browser["newPage"]>>;
  const BOOTSTRAP = "/feature-flags/bootstrap";
  let browser: Browser;
  let script: string;
  let page: Page;
  let server: EventServer;
  let values: Record<string, unknown>;
  let answer: Promise<void> | undefined;
  const complaints: string[] = [];
  const requests: { path: string; body: unknown }[] = [];

  beforeAll(async () => {
    const bundle = await build({
      entryPoints: [new URL("../fixtures/flags-hooks-page.tsx", import.meta.url).pathname],
      bundle: true,
      write: false,
      format: "iife",
      target: "es2022",
      jsx: "automatic",
      conditions: ["@halyard/source"],
      define: { "process.env.NODE_ENV": '"development"' },
    });
    script = bundle.outputFiles[0]?.text ?? "";
    [browser, server] = await Promise.all([launchChromium(), startEventServer()]);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.close();
  });

  beforeEach(async () => {
    values = { a: "one", b: { deep: true }, c: 3 };
    answer = undefined;
    complaints.length = 0;
    requests.length = 0;
    server.requests.length = 0;
    server.stored.length = 0;
    server.hold = undefined;
    page = await browser.newPage();
    page.on("console", (entry) => void (entry.type() === "error" && complaints.push(entry.text())));
    page.on("pageerror", (error) => complaints.push(String(error)));
    // All requests but events: Playwright does not intercept the beacons of a page that unloads.
    await page.route(/\/api\/auth\/(?!feature-flags\/events)/, async (route) => {
      const path = new URL(route.request().url()).pathname.replace("/api/auth", "");
      requests.push({ path, body: route.request().postDataJSON() });
      await answer;
      if (path === BOOTSTRAP) {
        const { flags } = (await bootstrapAnswer(values).json()) as FlagsBootstrap;
        const a = { ...flags["a"], variant: String(values["a"]) };
        const exposures = { a: `token of ${values["a"]}` };
        const evaluatedAt = new Date().toISOString();
        return route.fulfill({ json: { flags: { ...flags, a }, evaluatedAt, exposures } });
      }
      return route.fulfill({ json: { success: true } });
    });
    await page.goto(server.origin);
    await page.addScriptTag({ content: script });
  });
  afterEach(async () => {
    await page.close();
    expect(complaints).toEqual([]);
  });

  const show = (view: string, given?: FlagsBootstrap) =>
    page.evaluate(`show(${JSON.stringify(view)}, ${JSON.stringify(given)})`);
  const reads = (id: string, text: string): Promise<void> =>
    vi.waitFor(async () => expect(await page.textContent(`#${id}`)).toBe(text), {
      timeout: 10_000,
      interval: 20,
    });
  const fetches = () => requests.filter(({ path }) => path === BOOTSTRAP).length;
  const renders = () => page.evaluate("({ ...renders })") as Promise<Record<string, number>>;
  const refetch = () => page.evaluate("client.featureFlags.bootstrap()");

  test("any number of hooks cause one fetch, and the status shows that it is loading", async () => {
    const held = gate();
    answer = held.opened;
    await show("details");
    await reads("details", '{"value":"default","status":"loading"}');
    await show("many");
    await reads("a", '"default"');
    held.open();
    await reads("a", '"one"');
    await show("details");
    await reads("details", '{"value":"one","reason":"default","variant":"one","status":"ready"}');
    expect(fetches()).toBe(1);
  });

  test("a component renders again only when a flag it reads has changed", async () => {
    await show("each");
    await reads("a", '"one"');
    await reads("b", '{"deep":true}');
    await reads("variant", '{"key":"one"}');
    const before = await renders();
    await refetch();
    values = { ...values, c: "nobody reads it", b: { deep: true } };
    await refetch();
    expect(await renders()).toEqual(before);
    values = { ...values, b: false };
    await refetch();
    await reads("b", "false");
    // StrictMode renders twice.
    expect(await renders()).toEqual({ ...before, b: (before["b"] ?? 0) + 2 });
  });

  test("useFeatureFlags renders again when any flag changes", async () => {
    await show("all");
    await reads("all", '{"a":"one","b":{"deep":true},"c":3}');
    values = { d: "only", a: "one" };
    await refetch();
    await reads("all", '{"d":"only","a":"one"}');
  });

  test("the values of the page's bootstrap show immediately, without a request", async () => {
    await show("details", bootstrap);
    expect(await page.textContent("#details")).toBe(
      '{"value":"rendered","variant":"v","reason":"rule_match","status":"ready"}',
    );
    expect(await page.evaluate('client.featureFlags.getValue("a")')).toBe("rendered");
    expect(fetches()).toBe(0);
    await show("details", { flags: { a: { value: "navigated" } }, evaluatedAt: "2026-01-02T00:00:00.000Z" });
    await reads("details", '{"value":"navigated","status":"ready"}');
  });

  test("local overrides show immediately in development, until they are cleared", async () => {
    await show("each");
    await reads("a", '"one"');
    await page.evaluate('client.featureFlags.setOverride("a", "local")');
    await reads("a", '"local"');
    await page.evaluate("client.featureFlags.clearOverrides()");
    await reads("a", '"one"');
  });

  test("after a sign-out no earlier values show, not even those of the page's bootstrap", async () => {
    await show("details", bootstrap);
    const held = gate();
    const [signOut] = [page.evaluate("client.signOut()")];
    await signOut;
    await show("nothing", bootstrap);
    answer = held.opened;
    await show("details", bootstrap);
    expect(await page.textContent("#details")).not.toContain("rendered");
    held.open();
    await reads("details", '{"value":"one","reason":"default","variant":"one","status":"ready"}');
  });

  test("exposures are reported once for each flag on the page", async () => {
    await show("each");
    await reads("a", '"one"');
    const reported = () => requests.filter(({ path }) => path !== BOOTSTRAP);
    await vi.waitFor(() => expect(reported()).toHaveLength(2), 10_000);
    expect(reported()).toMatchObject([
      { path: "/feature-flags/evaluate-batch", body: { flagKeys: ["b"], track: true } },
      { path: "/feature-flags/exposures", body: { exposures: ["token of one"] } },
    ]);
  });

  test("exposures are reported again if another variant shows", async () => {
    const reported = () => requests.filter(({ path }) => path === "/feature-flags/exposures");
    await show("each");
    await reads("a", '"one"');
    await vi.waitFor(() => expect(reported()).toHaveLength(1), 10_000);
    values = { ...values, a: "two" };
    await refetch();
    await reads("a", '"two"');
    await vi.waitFor(() => expect(reported()).toHaveLength(2), 10_000);
    expect(reported().map(({ body }) => body)).toEqual([
      { exposures: ["token of one"] },
      { exposures: ["token of two"] },
    ]);
  });

  test("signing out gives the visitor a new id in the cookie", async () => {
    await show("each");
    await reads("a", '"one"');
    const id = async () =>
      (await page.context().cookies()).find(({ name }) => name === "halyard_anonymous_id")?.value;
    const before = await id();
    await page.evaluate('client.signIn.email({ email: "ann@example.com", password: "p" })');
    expect(await id()).toBe(before);
    await page.evaluate("client.signOut()");
    await vi.waitFor(async () => expect(await id()).not.toBe(before), 10_000);
    await refetch();
    const last = requests.filter(({ path }) => path === BOOTSTRAP).at(-1);
    expect(last).toMatchObject({ body: { context: { anonymousId: await id() } } });
  });

  test("a second provider updates hooks that are already on the page", async () => {
    await show("each");
    await reads("a", '"one"');
    await show("nested");
    await reads("a", '"newer"');
    await reads("n", '"nested"');
  });

  test("an anonymous visitor has one id, in a cookie and in every request", async () => {
    await show("each");
    await reads("a", '"one"');
    const cookie = (await page.context().cookies()).find(({ name }) => name === "halyard_anonymous_id");
    expect(cookie?.value).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
    await refetch();
    expect(requests.filter(({ path }) => path === BOOTSTRAP)).toMatchObject([
      { body: { context: { anonymousId: cookie?.value } } },
      { body: { context: { anonymousId: cookie?.value } } },
    ]);
  });

  test("events without a response are handed to the browser when the page unloads, and stored once", async () => {
    // The previous page may still report its exposures.
    const sent = () => server.requests.filter(({ path }) => path.startsWith("/feature-flags/events"));
    await page.evaluate('client.featureFlags.track("f", "first")');
    const held = gate();
    server.hold = held.opened;
    await page.evaluate(
      'void client.featureFlags.track("f", "in flight"); void client.featureFlags.trackBatch([{ flag: "f", event: "batch" }], "b");',
    );
    await vi.waitFor(() => expect(sent()).toHaveLength(3), 10_000);
    await page.evaluate('void client.featureFlags.track("f", "waiting")');
    await page.goto("about:blank");
    // The page may still run for a moment and send the waiting events itself. They have the same keys, so they count
    // once.
    const handedOver = () =>
      sent()
        .slice(3)
        .filter(({ path }) => path === "/feature-flags/events/batch")
        .flatMap(({ body }) => (body as { events: { event: string }[] }).events.map(({ event }) => event));
    await vi.waitFor(
      () => expect(new Set(handedOver())).toEqual(new Set(["batch", "in flight", "waiting"])),
      10_000,
    );
    held.open();
    expect(server.stored.map(({ event }) => event).sort()).toEqual([
      "batch",
      "first",
      "in flight",
      "waiting",
    ]);
  });
});
