/** Checks the shop in Chromium on PostgreSQL: sign-in, two organizations, an A/B test, and no flicker. */
import assert from "node:assert/strict";
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
  app = await startApp(openDatabase(database.url), 0);
  browser = await launchChromium();
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
    const window = new Window(await context.newPage());
    await window.visit();
    return window;
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
