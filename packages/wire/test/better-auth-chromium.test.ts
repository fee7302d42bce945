/** Two tabs of one browser that share the session cookie of a real Better Auth instance. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { launchChromium } from "@halyard/services";
import { betterAuthSession, type SessionData } from "@halyard/wire/better-auth";
import { createNodeHandler } from "@halyard/wire/node";
import { createRouter } from "@halyard/wire/zod";
import { toNodeHandler } from "better-auth/node";
import { build } from "esbuild";
import { expect, onTestFinished, test } from "vitest";
import { createStore, startAuth } from "../../sessions/test/host.ts";
import { Join, News, Team } from "./fixtures/session-messages.ts";

const PAGE = `<!doctype html><title>Session</title><p id=session></p><p id=team></p><p id=news></p><script src=/page.js></script>`;
const SOON = { timeout: 10_000, interval: 20 };

/** The globals that `fixtures/session-page.ts` defines in the page. */
interface SessionPage {
  post(path: string, body: object): Promise<{ id: string }>;
  open(): Promise<void>;
}

async function startSite() {
  const { outputFiles } = await build({
    entryPoints: [new URL("fixtures/session-page.ts", import.meta.url).pathname],
    bundle: true,
    write: false,
    format: "iife",
    conditions: ["@halyard/source"],
  });
  const http = createServer();
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const { auth } = await startAuth(await createStore({ database: "sqlite", storage: false }), {
    baseURL: origin,
  });
  const topicOf = ({ organizationId = "none" }: SessionData): string => `team:${organizationId}`;
  const router = createRouter<SessionData>({
    authorizeTopic: ({ data }, topic) => topic === topicOf(data),
  }).rpc(Join, async (ctx) => {
    await ctx.subscribe(topicOf(ctx.data));
    return { team: ctx.data.organizationId ?? "none" };
  });
  const handler = createNodeHandler(router, {
    path: "/ws",
    authenticate: betterAuthSession(auth, { onSessionChange: (ctx) => void ctx.send(Team) }),
  });
  const handle = toNodeHandler(auth);
  http.on("upgrade", handler.upgrade);
  http.on("request", (request, response) => {
    if (request.url?.startsWith("/api/auth")) return void handle(request, response);
    const isScript = request.url === "/page.js";
    response.setHeader("content-type", isScript ? "text/javascript" : "text/html");
    response.end(isScript ? outputFiles[0]?.contents : PAGE);
  });
  onTestFinished(async () => {
    await handler.stop();
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
  });
  return { origin, publish: (team: string, text: string) => router.publish(`team:${team}`, News, { text }) };
}

async function openTabs(origin: string) {
  const browser = await launchChromium();
  onTestFinished(() => browser.close());
  const context = await browser.newContext();
  async function openTab() {
    const page = await context.newPage();
    await page.goto(origin);
    return {
      page,
      post: (path: string, body: object = {}) =>
        page.evaluate(
          ([to, what]) => (globalThis as unknown as SessionPage).post(to as string, what as object),
          [path, body],
        ),
      open: () => page.evaluate(() => (globalThis as unknown as SessionPage).open()),
      text: (id: string) => page.locator(`#${id}`).textContent(),
    };
  }
  return [await openTab(), await openTab()] as const;
}

test("signing out in one tab ends the messages of the other, and signing in brings them back without a reload", async () => {
  const { origin, publish } = await startSite();
  const [one, two] = await openTabs(origin);
  const password = "correct horse battery";
  await one.post("/sign-up/email", { name: "Ann", email: "ann@example.com", password });
  await Promise.all([one.open(), two.open()]);
  await publish("none", "first");
  await expect.poll(() => two.text("news"), SOON).toBe("first");
  await one.post("/sign-out");
  await expect.poll(() => two.text("session"), SOON).toBe("lost");
  await publish("none", "second");
  await one.post("/sign-in/email", { email: "ann@example.com", password });
  await two.open();
  await publish("none", "third");
  await expect.poll(() => two.text("news"), SOON).toBe("first third");
});

test("switching the organization in one tab moves the other to it without a reload", async () => {
  const { origin, publish } = await startSite();
  const [one, two] = await openTabs(origin);
  await one.post("/sign-up/email", {
    name: "Ann",
    email: "ann@example.com",
    password: "correct horse battery",
  });
  await Promise.all([one.open(), two.open()]);
  const alpha = await one.post("/organization/create", { name: "Alpha", slug: "alpha" });
  await expect.poll(() => two.text("team"), SOON).toBe(alpha.id);
  const beta = await one.post("/organization/create", { name: "Beta", slug: "beta" });
  await expect.poll(() => two.text("team"), SOON).toBe(beta.id);
  await publish(alpha.id, "to alpha");
  await publish(beta.id, "to beta");
  await expect.poll(() => two.text("news"), SOON).toBe("to beta");
});
