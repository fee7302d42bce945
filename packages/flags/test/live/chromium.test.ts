/** Two windows of a React application with live flags, in Chromium. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { DatabaseSync } from "node:sqlite";
import { closeFeatureFlags, featureFlags } from "@halyard/flags";
import { liveFlags } from "@halyard/flags/live";
import { launchChromium } from "@halyard/services";
import { createRouter } from "@halyard/wire";
import { betterAuthSession, type SessionData } from "@halyard/wire/better-auth";
import { createNodeHandler } from "@halyard/wire/node";
import { betterAuth } from "better-auth";
import { getMigrations } from "better-auth/db/migration";
import { toNodeHandler } from "better-auth/node";
import { build } from "esbuild";
import { expect, onTestFinished, test, vi } from "vitest";

/** The application, with its page at every path but those of Better Auth. */
async function startApp() {
  const bundle = await build({
    entryPoints: [new URL("../fixtures/live-page.tsx", import.meta.url).pathname],
    bundle: true,
    write: false,
    format: "esm",
    target: "es2022",
    jsx: "automatic",
    conditions: ["@halyard/source"],
    define: { "process.env.NODE_ENV": '"development"' },
  });
  const script = bundle.outputFiles[0]?.text ?? "";
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const auth = betterAuth({
    baseURL,
    secret: "a secret that is only good enough for tests, which is all it does",
    database: new DatabaseSync(":memory:"),
    emailAndPassword: { enabled: true },
    logger: { disabled: true },
    plugins: [featureFlags()],
  });
  await (await getMigrations(auth.options)).runMigrations();
  const handle = toNodeHandler(auth);
  server.on("request", (request, response) => {
    if (request.url?.startsWith("/api/auth")) return void handle(request, response);
    const isScript = request.url === "/page.js";
    response.setHeader("content-type", isScript ? "text/javascript" : "text/html");
    response.end(isScript ? script : '<!doctype html><body><script type="module" src="/page.js"></script>');
  });
  const router = createRouter<SessionData>();
  liveFlags(router, auth);
  const wire = createNodeHandler(router, { path: "/live", authenticate: betterAuthSession(auth) });
  server.on("upgrade", wire.upgrade);
  onTestFinished(async () => {
    await wire.stop();
    await closeFeatureFlags(auth);
    server.closeAllConnections();
    server.close();
  });
  return { auth, baseURL };
}

test("a kill switch changes both windows without a reload, and the status shows that changes arrive", async () => {
  const [{ auth, baseURL }, browser] = await Promise.all([startApp(), launchChromium()]);
  onTestFinished(() => browser.close());
  const flag = await auth.api.createFeatureFlag({
    body: { key: "banner", name: "N", type: "string", enabled: true, defaultValue: "on", offValue: "off" },
  });
  const { headers } = await auth.api.signUpEmail({
    body: { name: "ann", email: "ann@example.com", password: "correct horse battery" },
    returnHeaders: true,
  });
  const context = await browser.newContext();
  await context.addCookies(
    headers.getSetCookie().map((line) => {
      const [name = "", value = ""] = (line.split(";", 1)[0] ?? "").split(/=(.*)/s);
      return { name, value, url: baseURL };
    }),
  );
  const windows = [await context.newPage(), await context.newPage()];
  for (const page of windows) await page.goto(baseURL);
  const shown = () =>
    Promise.all(
      windows.map(async (page) =>
        [await page.textContent("#value"), await page.textContent("#status")].join(),
      ),
    );
  const show = (text: string) =>
    vi.waitFor(async () => expect(await shown()).toEqual([text, text]), { timeout: 10_000, interval: 20 });
  await show("on,live current");
  await auth.api.updateFeatureFlag({ body: { id: flag.id, enabled: false } });
  await show("off,live current");
}, 30_000);
