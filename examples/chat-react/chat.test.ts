/** The page in a real browser with the real chat server, which the test kills and restarts. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Room, Said } from "@halyard/example-chat-node/messages";
import { freePort, launchChromium, type Program, spawnProgram } from "@halyard/services";
import { joinChannel, wsClient } from "@halyard/wire/client";
import { build, createServer, preview, type ViteDevServer } from "vite";

type Browser = Awaited<ReturnType<typeof launchChromium>>;
type Page = Awaited<ReturnType<Browser["newPage"]>>;

const root = import.meta.dirname;
const WAIT_MS = 10_000;
/** The browser's own messages about an unreachable server. */
const EXPECTED_COMPLAINT = /WebSocket connection to .* failed|Failed to load resource/;

let port: number;
let chat: Program;
let site: ViteDevServer;
let browser: Browser;

before(async () => {
  port = await freePort();
  // The port in vite.config.ts for the chat server.
  process.env["PORT"] = String(port);
  chat = await startChat();
  site = await createServer({
    root,
    logLevel: "silent",
    server: { port: await freePort(), strictPort: true, hmr: false },
  });
  await site.listen();
  browser = await launchChromium();
});

after(async () => {
  await browser?.close();
  await site?.close();
  await chat?.stop();
});

function startChat(): Promise<Program> {
  return spawnProgram({
    command: process.execPath,
    args: ["--conditions=@halyard/source", join(root, "chat-server.ts")],
    env: { PORT: String(port) },
  });
}

class Window {
  readonly page: Page;
  readonly complaints: string[] = [];

  private constructor(page: Page) {
    this.page = page;
    page.setDefaultTimeout(WAIT_MS);
    page.on("pageerror", (error) => this.complaints.push(String(error)));
    page.on("console", (entry) => {
      const isComplaint = entry.type() === "error" || entry.type() === "warning";
      if (isComplaint && !EXPECTED_COMPLAINT.test(entry.text())) this.complaints.push(entry.text());
    });
  }

  static async open(url: string | undefined): Promise<Window> {
    const context = await browser.newContext();
    const window = new Window(await context.newPage());
    await window.page.goto(url ?? "");
    return window;
  }

  async signIn(name: string): Promise<this> {
    await this.page.getByRole("button", { name, exact: true }).click();
    return this;
  }

  /** Waits until the page shows this connection state. */
  async shows(status: string | RegExp): Promise<void> {
    await this.page.getByRole("status").filter({ hasText: status }).waitFor();
  }

  async say(text: string): Promise<void> {
    await this.page.getByLabel("Message to").fill(text);
    await this.page.getByRole("button", { name: "Send", exact: true }).click();
  }

  showsMessage(text: string): Promise<void> {
    return this.page.locator('li[data-status="delivered"] .text', { hasText: text }).waitFor();
  }

  /** The texts with this mark, in order. */
  texts(status: "delivered" | "pending" | "failed"): Promise<string[]> {
    return this.page.locator(`li[data-status="${status}"] .text`).allTextContents();
  }

  async close(): Promise<void> {
    await this.page.context().close();
    assert.deepEqual(this.complaints, []);
  }
}

const openSite = (): Promise<Window> => Window.open(site.resolvedUrls?.local[0]);

// `void`: the test runner waits for its tests.
void test("two windows receive each other's messages and show typing users", async () => {
  const [cara, dan] = [await openSite(), await openSite()];
  await Promise.all([cara.signIn("cara"), dan.signIn("dan")]);
  await Promise.all([cara.shows("Live"), dan.shows("Live")]);
  await cara.page.getByLabel("Message to").pressSequentially("Ahoy");
  await dan.page.getByText("cara is typing").waitFor();
  await cara.say("Ahoy, Dan!");
  await dan.showsMessage("Ahoy, Dan!");
  assert.equal(await dan.page.getByText("cara is typing").count(), 0);

  await dan.page.getByRole("button", { name: "library" }).click();
  await cara.say("Where are you?");
  await dan.page.getByRole("button", { name: "general 1 unread" }).click();
  await dan.showsMessage("Where are you?");
  assert.deepEqual(await dan.texts("delivered"), ["Ahoy, Dan!", "Where are you?"]);
  await Promise.all([cara.close(), dan.close()]);
});

void test("messages sent while the server is down arrive once and in order in both windows after it restarts", async () => {
  const [ada, bob] = [await openSite(), await openSite()];
  await Promise.all([ada.signIn("ada"), bob.signIn("bob")]);
  await Promise.all([ada.shows("Live"), bob.shows("Live")]);
  await ada.page.getByRole("button", { name: "harbour" }).click();
  await bob.page.getByRole("button", { name: "harbour" }).click();
  await ada.say("before");
  await Promise.all([ada.showsMessage("before"), bob.showsMessage("before")]);

  // Sent over an open connection to a server that will never read it.
  chat.pause();
  await ada.say("in flight");
  await chat.kill();
  await Promise.all([ada.shows("Reconnecting"), bob.shows("Reconnecting")]);

  const [adas, bobs] = [
    ["one", "two", "three"],
    ["uno", "due"],
  ];
  for (const text of adas) await ada.say(text);
  for (const text of bobs) await bob.say(text);
  assert.deepEqual(await ada.texts("pending"), ["in flight", ...adas]);
  assert.deepEqual(await bob.texts("pending"), bobs);
  await ada.page.getByText("4 messages wait to be sent.").waitFor();
  await ada.shows(/Reconnecting, attempt ([2-9]|\d\d)/);
  await bob.page.context().setOffline(true);
  await bob.shows("Offline");

  chat = await startChat();
  await ada.shows("Live");
  await bob.page.context().setOffline(false);
  await bob.shows("Live");
  for (const window of [ada, bob]) {
    for (const text of ["in flight", ...adas, ...bobs]) await window.showsMessage(text);
    assert.deepEqual([await window.texts("pending"), await window.texts("failed")], [[], []]);
  }

  // No duplicates, neither in the windows nor on the server.
  const seen = await ada.texts("delivered");
  assert.deepEqual(await bob.texts("delivered"), seen);
  assert.deepEqual(await linesOnServer("harbour", seen.length - 1), seen.slice(1));
  assert.deepEqual(
    seen.filter((text) => !bobs.includes(text)),
    ["before", "in flight", ...adas],
  );
  assert.deepEqual(
    seen.filter((text) => bobs.includes(text)),
    bobs,
  );
  await Promise.all([ada.close(), bob.close()]);
});

void test("an unknown name closes the connection with a reason, and another name can be tried", async () => {
  const window = await openSite();
  await window.page.getByLabel("Or another name").fill("zoe");
  await window.page.getByRole("button", { name: "Enter" }).click();
  await window.shows("Closed");
  await window.page.getByText("The server does not know this name.").waitFor();
  await window.page.getByRole("button", { name: "Change name" }).click();
  await window.signIn("fay");
  await window.shows("Live");
  await window.close();
});

void test("the built page can sign in too", async () => {
  const outDir = await mkdtemp(join(tmpdir(), "chat-react-"));
  try {
    await build({ root, logLevel: "silent", build: { outDir } });
    const built = await preview({
      root,
      logLevel: "silent",
      build: { outDir },
      preview: { port: await freePort() },
    });
    try {
      const eve = await (await Window.open(built.resolvedUrls?.local[0])).signIn("eve");
      await eve.shows("Live");
      await eve.close();
    } finally {
      await built.close();
    }
  } finally {
    await rm(outDir, { recursive: true });
  }
});

/** Resolves once this many lines have arrived. */
async function linesOnServer(room: string, count: number): Promise<string[]> {
  const client = wsClient({
    url: `ws://localhost:${port}`,
    auth: { getToken: () => "fay-token", attach: "protocol" },
  });
  const texts: string[] = [];
  await new Promise<void>((resolve) => {
    joinChannel(client, Room, { room }, { last: 50 }).on(Said, ({ text }) => {
      if (texts.push(text) >= count) resolve();
    });
    void client.connect();
  });
  await client.close();
  return texts;
}
