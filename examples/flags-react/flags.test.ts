/** Checks the shop in Chromium on PostgreSQL: sign-in, two organizations, an A/B test, live changes, and no flicker. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { createPostgresDatabase, launchChromium } from "@halyard/services";
import { type App, startApp } from "./app.ts";
import { openDatabase } from "./database.ts";

type Browser = Awaited<ReturnType<typeof launchChromium>>;
type Page = Awaited<ReturnType<Browser["newPage"]>>;

const WAIT_MS = 20_000;

let database: Awaited<ReturnType<typeof createPostgresDatabase>>;
let app: App;
let browser: Browser;

before(async () => {
  database = await createPostgresDatabase();
  // The test runner counts this time as that of the first test.
  [app, browser] = await Promise.all([startApp(openDatabase(database.url), 0), launchChromium()]);
  // At the first visit, Vite bundles the dependencies and may reload the page, which would lose a click.
  const page = await browser.newPage();
  await page.goto(app.origin, { waitUntil: "networkidle", timeout: 120_000 });
  await page.close();
});
after(async () => {
  await browser?.close();
  await app?.stop();
  await database?.drop();
});

class Window {
  readonly page: Page;
  readonly complaints: string[] = [];

  private constructor(page: Page) {
    this.page = page;
    page.setDefaultTimeout(WAIT_MS);
    page.on("pageerror", (error) => this.complaints.push(String(error)));
    page.on("console", (entry) => {
      // The browser logs the expected 403 for a member who lists flags.
      if (entry.type() === "error" && !/Failed to load resource/.test(entry.text()))
        this.complaints.push(entry.text());
    });
  }

  static async open(cookies: { name: string; value: string; url: string }[] = []): Promise<Window> {
    const context = await browser.newContext();
    await context.addCookies(cookies);
    return Window.openIn(context);
  }

  /** Another window of the same visitor. */
  static async openIn(context: ReturnType<Page["context"]>): Promise<Window> {
    const window = new Window(await context.newPage());
    await window.visit();
    return window;
  }

  /** Waits until the server pushes changes to this window. */
  async isLive(): Promise<void> {
    await this.page.locator('[data-connection="live"]').waitFor();
  }

  /** Loads the page, and compares it after hydration with the HTML of the server. */
  async visit(): Promise<void> {
    const response = await this.page.goto(app.origin);
    const html = (await response?.text()) ?? "";
    const rendered = await this.page.evaluate((text) => {
      const sent = new DOMParser().parseFromString(text, "text/html");
      return [...sent.querySelectorAll("[data-flag], .banner, .goods li")].map((part) => part.textContent);
    }, html);
    await this.page.waitForLoadState("networkidle");
    const parts = this.page.locator("[data-flag], .banner, .goods li");
    assert.deepEqual(await parts.allTextContents(), rendered);
  }

  /** Waits until the flag shows this text. */
  async shows(flag: string, text: string | RegExp): Promise<void> {
    await this.page.locator(`[data-flag="${flag}"][data-status="ready"]`).filter({ hasText: text }).waitFor();
  }

  async click(name: string | RegExp): Promise<void> {
    await this.page.getByRole("button", { name, exact: true }).click();
  }

  async close(): Promise<void> {
    await this.page.context().close();
    assert.deepEqual(this.complaints, []);
  }
}

// `void`, because the test runner waits for the tests.
void test("a user who signs in gets their organization's flags, on the open page and on the next", async () => {
  const window = await Window.open();
  await window.shows("free-shipping", "false");
  await window.click(/^ada/);
  await window.shows("free-shipping", "true");
  const banner = window.page.locator(".banner");
  await banner.filter({ hasText: "Ahoy, Acme!" }).waitFor();
  assert.equal(await window.page.getByText("Free shipping", { exact: true }).count(), 4);
  await window.visit();
  await window.shows("free-shipping", "true");
  await window.click("Sign out");
  await window.shows("free-shipping", "false");
  assert.equal(await banner.textContent(), "Ropes, blocks and lamps for every deck");
  await window.close();
});

void test("a member of two organizations gets the flags of the active one", async () => {
  const window = await Window.open();
  await window.click(/^bob/);
  await window.page.getByRole("button", { name: "Globex", exact: true }).waitFor();
  await window.click("Globex");
  await window.shows("layout", "list");
  await window.shows("free-shipping", "false");
  await window.click("Acme");
  await window.shows("free-shipping", "true");
  await window.shows("layout", "grid");
  await window.page.getByText("You cannot change these flags.").waitFor();
  await window.close();
});

void test("a flag that is turned off changes the open page immediately, and the next rendered page", async () => {
  const window = await Window.open();
  await window.click(/^ada/);
  const turn = window.page.getByRole("switch", { name: "free-shipping" });
  await turn.click();
  await window.shows("free-shipping", /false.*disabled/);
  await window.visit();
  await window.shows("free-shipping", /false.*disabled/);
  await turn.click();
  await window.shows("free-shipping", "true");
  await window.close();
});

void test("every switch on the page of an organization's owner turns something off", async () => {
  for (const [person, key, on, off] of [
    [/^ada/, "banner", /Ahoy, Acme!/, /for every deck.*disabled/],
    [/^ada/, "free-shipping", /true/, /false.*disabled/],
    [/^gil/, "layout", /list/, /grid.*disabled/],
  ] as const) {
    const window = await Window.open();
    await window.click(person);
    await window.shows(key, on);
    const turn = window.page.getByRole("switch", { name: key });
    await turn.click();
    await window.shows(key, off);
    await turn.click();
    await window.shows(key, on);
    await window.close();
  }
});

void test("no flag of the shop has a switch that changes nothing", async () => {
  const { flags } = await app.auth.api.listFeatureFlags({ query: { limit: 50 } });
  assert.equal(flags.length, 7);
  for (const { id, key } of flags) {
    // A change that changes nothing returns the flag with its warnings.
    const { warnings } = await app.auth.api.updateFeatureFlag({ body: { id } });
    assert.equal(warnings, undefined, key);
  }
});

void test("a visitor keeps the variant of the A/B test after reloads and sign-in, and a purchase is reported", async () => {
  const words = new Set<string>();
  for (let visitor = 0; visitor < 8 && words.size < 2; visitor++) {
    const cookie = { name: "halyard_anonymous_id", value: `visitor-${visitor}`, url: app.origin };
    const window = await Window.open([cookie]);
    const button = window.page.locator(".goods button").first();
    const first = (await button.textContent()) ?? "";
    await window.visit();
    assert.equal(await button.textContent(), first);
    await window.click(/^gil/);
    await window.shows("layout", "list");
    assert.equal(await button.textContent(), first);
    const reported = window.page.waitForRequest((request) => request.url().endsWith("/feature-flags/events"));
    await button.click();
    const body = (await reported).postDataJSON();
    assert.deepEqual([body.flagKey, body.event, body.properties], ["buy-button", "purchase", 89]);
    await window.page.getByText("Thank you!").waitFor();
    words.add(first);
    await window.close();
  }
  assert.deepEqual([...words].sort(), ["Add to cart", "Bring aboard"]);
});

void test("a switch changes every open window without a reload or a request for flags", async () => {
  const [first, second] = [await Window.open(), await Window.open()];
  for (const window of [first, second]) {
    await window.click(/^ada/);
    await window.shows("free-shipping", "true");
    await window.isLive();
  }
  const asked: string[] = [];
  for (const { page } of [first, second]) {
    page.on("request", (request) => {
      if (/\/bootstrap$/.test(request.url()) || request.isNavigationRequest()) asked.push(request.url());
    });
  }
  await first.page.getByRole("switch", { name: "free-shipping" }).click();
  for (const window of [first, second]) {
    await window.shows("free-shipping", /false.*disabled/);
    await window.page.getByText("€ 9 shipping").first().waitFor();
    // The switch itself follows in the other window.
    await window.page.getByRole("switch", { name: "free-shipping", checked: false }).waitFor();
  }
  await second.page.getByRole("switch", { name: "free-shipping" }).click();
  for (const window of [first, second]) await window.shows("free-shipping", "true");
  assert.deepEqual(asked, []);
  await first.close();
  await second.close();
});

void test("the console is mounted in at most five lines, on the socket of the shop", async () => {
  const lines = readFileSync(new URL("app.ts", import.meta.url), "utf8").split("\n");
  assert.ok(lines.filter((line) => /createConsole|flagsConsole/.test(line)).length <= 5);
  const page = await fetch(`${app.origin}/console`);
  assert.match(page.headers.get("content-security-policy") ?? "", /frame-ancestors 'none'/);
  const ask = (path: string, method: string) =>
    fetch(`${app.origin}/console/api/feature-flags/${path}`, {
      method,
      headers: { origin: app.origin, "x-halyard-console": "1", "content-type": "application/json" },
      ...(method !== "GET" && { body: "{}" }),
    });
  const session = (await (await ask("console/session", "POST")).json()) as { live?: string };
  assert.equal(session.live, "/socket");
  for (const method of ["GET", "PATCH", "DELETE"]) {
    assert.equal((await ask("admin/flags/key:any", method)).status, 401, method);
  }
});

void test("one WebSocket carries stock and flags, and a purchase is seen in every window", async () => {
  const first = await Window.open();
  const sockets: string[] = [];
  const context = await browser.newContext();
  const page = await context.newPage();
  page.on("websocket", (socket) => sockets.push(new URL(socket.url()).pathname));
  await page.goto(app.origin);
  await page.locator('[data-connection="live"]').waitFor();
  const item = (window: Page) => window.locator(".goods li").filter({ hasText: "Anchor light" });
  const left = Number(/(\d+) left/.exec((await item(page).textContent()) ?? "")?.[1]);
  await item(first.page).getByRole("button").click();
  await item(page)
    .getByText(`${left - 1} left`)
    .waitFor();
  assert.deepEqual(sockets, ["/socket"]);
  await context.close();
  await first.close();
});

void test("an organization that is changed in one window changes all windows of the session", async () => {
  const first = await Window.open();
  await first.click(/^bob/);
  await first.page.getByRole("button", { name: "Globex", exact: true }).waitFor();
  await first.click("Acme");
  const second = await Window.openIn(first.page.context());
  for (const window of [first, second]) {
    await window.shows("layout", "grid");
    await window.isLive();
  }
  await first.click("Globex");
  for (const window of [first, second]) {
    await window.shows("layout", "list");
    await window.page.getByRole("button", { name: "Globex", pressed: true }).waitFor();
  }
  await first.close();
});

void test("where WebSockets are blocked, a switch arrives within the poll interval", async () => {
  const owner = await Window.open();
  await owner.click(/^ada/);
  await owner.isLive();
  const context = await browser.newContext();
  await context.addInitScript(() => {
    globalThis.WebSocket = class {
      constructor() {
        throw new Error("blocked");
      }
    } as unknown as typeof WebSocket;
  });
  const page = await context.newPage();
  page.setDefaultTimeout(WAIT_MS);
  let underWay = 0;
  page.on("request", () => underWay++);
  page.on("requestfinished", () => underWay--);
  page.on("requestfailed", () => underWay--);
  // Time passes only as the test says, and not while a request is under way: it would reach its timeout.
  await page.clock.install();
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 1_000) {
      await page.clock.runFor(1_000);
      await page.evaluate(() => undefined);
      while (underWay > 0) await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };
  await page.goto(app.origin);
  await page.getByRole("button", { name: /^ada/ }).click();
  const row = page.locator('[data-flag="free-shipping"][data-status="ready"]');
  await row.filter({ hasText: "true" }).waitFor();
  await owner.page.getByRole("switch", { name: "free-shipping" }).click();
  await owner.shows("free-shipping", /false.*disabled/);
  await pass(10_000);
  await page.locator('[data-connection="polling"]').waitFor();
  // The interval is 30 s, spread by a fifth.
  await pass(36_000);
  await row.filter({ hasText: /false.*disabled/ }).waitFor();
  await owner.page.getByRole("switch", { name: "free-shipping" }).click();
  await context.close();
  await owner.close();
});
