/** The page in a real browser: two windows of one user, a reload in the middle, stop and continue. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { freePort, launchChromium } from "@halyard/services";
import type { ServerHandle } from "@halyard/wire/node";
import { createServer, type ViteDevServer } from "vite";
import { startServer } from "./server.ts";

type Browser = Awaited<ReturnType<typeof launchChromium>>;
type Page = Awaited<ReturnType<Browser["newPage"]>>;

const WAIT_MS = 10_000;
const WORD_MS = 10;
/** With a folder here, the test writes screenshots into it. */
const shots = process.env["SCREENSHOTS"];

let server: ServerHandle;
let site: ViteDevServer;
let browser: Browser;

before(async () => {
  server = await startServer(0, WORD_MS);
  // The port in vite.config.ts for the server.
  process.env["PORT"] = String(server.port);
  site = await createServer({
    root: import.meta.dirname,
    logLevel: "silent",
    server: { port: await freePort(), strictPort: true, hmr: false },
  });
  await site.listen();
  browser = await launchChromium();
});

after(async () => {
  await browser?.close();
  await site?.close();
  await server?.stop();
});

const complaints: string[] = [];

async function open(user: string): Promise<Page> {
  const page = await (await browser.newContext({ viewport: { width: 900, height: 700 } })).newPage();
  page.setDefaultTimeout(WAIT_MS);
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (entry) => {
    if (entry.type() === "error") complaints.push(entry.text());
  });
  await page.goto(`${site.resolvedUrls?.local[0]}?user=${user}`);
  await page
    .getByRole("status")
    .filter({ hasText: `Connected as ${user}` })
    .waitFor();
  return page;
}

async function ask(page: Page, question: string): Promise<void> {
  await page.getByLabel("Question").fill(question);
  await page.getByRole("button", { name: "Ask" }).click();
}

const answer = (page: Page, status: string, at = 0) => page.locator(`li[data-status="${status}"]`).nth(at);
const textOf = async (page: Page, at = 0): Promise<string[]> =>
  ((await page.locator("li .text").nth(at).textContent()) ?? "").split(" ").filter(Boolean);
const shoot = async (page: Page, name: string): Promise<void> => {
  if (shots !== undefined) await page.screenshot({ path: `${shots}/${name}.png` });
};

// `void`: the test runner waits for its tests.
void test("two windows of one user show the same answer, also after a reload in the middle; another user sees nothing", async () => {
  const [first, second, other] = [await open("ada"), await open("ada"), await open("bob")];
  await ask(first, "Where is the harbour?");
  await answer(second, "pending").waitFor();
  await first.locator("li .text", { hasText: /( \S+){20}/ }).waitFor();
  await shoot(first, "answer-in-progress");
  await first.reload();
  await Promise.all([answer(first, "success").waitFor(), answer(second, "success").waitFor()]);
  const words = await textOf(first);
  assert.equal(words.length, 240);
  assert.deepEqual(await textOf(second), words);
  await shoot(second, "second-window");
  assert.equal(await other.locator("li").count(), 0);
  assert.deepEqual(complaints, []);
});

void test("an answer goes on without any window", async () => {
  const window = await open("cara");
  await ask(window, "Does it go on?");
  await answer(window, "pending").waitFor();
  await window.context().close();
  const later = await open("cara");
  await answer(later, "success").waitFor();
  assert.equal((await textOf(later)).length, 240);
  assert.deepEqual(complaints, []);
});

void test("stop ends the answer in both windows, and continue adds the rest", async () => {
  const [first, second] = [await open("dan"), await open("dan")];
  await ask(first, "How long is a rope?");
  await first.locator("li .text", { hasText: /( \S+){5}/ }).waitFor();
  await second.getByRole("button", { name: "Stop" }).click();
  await Promise.all([answer(first, "error").waitFor(), answer(second, "error").waitFor()]);
  await first.getByText(", stopped").waitFor();
  const begun = await textOf(first);
  assert.deepEqual(await textOf(second), begun);
  assert.ok(begun.length < 240, `${begun.length} words`);
  await first.getByRole("button", { name: "Continue" }).click();
  await Promise.all([answer(first, "success").waitFor(), answer(second, "success").waitFor()]);
  assert.equal(begun.length + (await textOf(first, 1)).length, 240);
  assert.deepEqual(await textOf(second, 1), await textOf(first, 1));
  await shoot(first, "stopped-and-continued");
  assert.deepEqual(complaints, []);
});
