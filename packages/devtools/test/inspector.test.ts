/** The inspector's page in Chromium, beside a server on Node and on Bun. */
import { bunPath, launchChromium, spawnProgram } from "@halyard/services";
import { wsClient } from "@halyard/wire/client";
import { rpc, z } from "@halyard/wire/zod";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";

const Greet = rpc("GREET", { name: z.string() }, "GREETING", { text: z.string() });
const FIXTURE = new URL("fixtures/inspected.ts", import.meta.url).pathname;

let browser: Awaited<ReturnType<typeof launchChromium>>;
beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(() => browser?.close());

async function start(command: string) {
  const program = await spawnProgram({ command, args: ["--conditions=@halyard/source", FIXTURE] });
  onTestFinished(program.kill);
  const address = /inspector (\S+)/.exec(program.output())?.[1] ?? "";
  const client = wsClient({
    url: `ws://127.0.0.1:${program.port}`,
    wsFactory: (url, protocols) => new WebSocket(url, protocols) as never,
  });
  onTestFinished(() => client.close());
  await client.connect();
  return { program, address, client };
}

async function open(address: string) {
  const context = await browser.newContext();
  onTestFinished(() => context.close());
  const page = await context.newPage();
  const problems: string[] = [];
  page.on("pageerror", ({ message }) => problems.push(message));
  page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  await page.goto(address);
  const rows = () =>
    page
      .locator("#rows tr")
      .evaluateAll((list) => list.map((row) => row.querySelector(".open")?.textContent));
  return { page, problems, rows };
}

test.each([
  ["Node", () => process.execPath],
  ["Bun", bunPath],
])(
  "%s: the page shows frames as they come, filters them, and shows one without its values",
  async (_, command) => {
    const { address, client } = await start(command());
    const { page, problems, rows } = await open(address);
    await client.request(Greet, { name: "Ada" });
    await expect.poll(rows).toEqual(["GREETING", "NEWS", "GREET", "opened"]);
    await expect.poll(() => page.locator("#connection-count").textContent()).toBe("1");
    expect(await page.locator("#topics").textContent()).toBe("news1");
    expect(await page.locator("#status").textContent()).toBe("Live");

    await page.getByLabel("Protocol frames").check();
    await expect.poll(rows).toContain("$ws:hello");
    await page.getByLabel("Direction").selectOption("topic");
    expect(await rows()).toEqual(["NEWS"]);
    await page.getByLabel("Direction").selectOption("");
    await page.getByPlaceholder("Filter by").fill("greet");
    expect(await rows()).toEqual(["GREETING", "GREET"]);

    await page.getByRole("button", { name: "GREET", exact: true }).click();
    const detail = page.getByRole("dialog");
    expect(await detail.textContent()).toContain("{ name: string(3) }");
    expect(await page.content()).not.toContain("Ada");
    await page.keyboard.press("Escape");

    await page.getByRole("button", { name: "Pause" }).click();
    await client.request(Greet, { name: "Bob" });
    await page.getByRole("button", { name: "Clear" }).click();
    expect(await rows()).toEqual([]);
    await page.getByRole("button", { name: "Pause" }).click();
    await expect.poll(rows).toEqual(["GREETING", "GREET"]);
    expect(problems).toEqual([]);
  },
);

test("the page says when the server is gone, and continues when it answers again", async () => {
  const { program, address } = await start(process.execPath);
  const { page } = await open(address);
  await expect.poll(() => page.locator("#status").textContent()).toBe("Live");
  await page.route("**/state*", (route) => route.abort());
  await expect
    .poll(() => page.locator("#status").textContent(), { timeout: 5_000 })
    .toContain("does not answer");
  await page.unroute("**/state*");
  await expect.poll(() => page.locator("#status").textContent(), { timeout: 5_000 }).toBe("Live");
  expect(program.pid).toBeGreaterThan(0);
});
