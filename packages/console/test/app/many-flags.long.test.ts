import { launchChromium, sized } from "@halyard/services";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Application, removeBuild, startApplication } from "./application.ts";
import { createVisits } from "./visitor.ts";

const FLAGS = sized(10_000, 300);
const MOST_MS = 100;

let app: Application;
let browser: Browser;

beforeAll(async () => {
  [app, browser] = await Promise.all([startApplication(), launchChromium()]);
  for (let place = 0; place < FLAGS; place += 10) {
    await Promise.all(
      Array.from({ length: 10 }, (_, more) =>
        app.auth.api.createFeatureFlag({
          body: {
            key: `flag-${place + more}`,
            name: `Feature ${place + more}`,
            type: "boolean",
            offValue: false,
          },
        }),
      ),
    );
  }
}, 1_200_000);

afterAll(async () => {
  await browser.close();
  await app.close();
  await removeBuild();
});

it(`with ${FLAGS} flags, each interaction with the list takes at most ${MOST_MS} ms in the page`, async () => {
  const ada = await app.account("Ada Lovelace", { role: "admin" });
  const { page, leave } = await createVisits(browser, app)({ account: ada });
  await page.evaluate(() => {
    const durations: number[] = [];
    Object.assign(globalThis, { durations });
    const observer = new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) durations.push(duration);
    });
    observer.observe({ type: "event", durationThreshold: 16, buffered: true } as PerformanceObserverInit);
  });
  await page.getByLabel("Search flags").pressSequentially(`flag-${FLAGS - 1}`, { delay: 20 });
  await page.getByRole("link", { name: `Feature ${FLAGS - 1}`, exact: true }).waitFor();
  await page.getByLabel("Search flags").fill("");
  await page.getByLabel("Sort").selectOption("name");
  await page.getByRole("link", { name: "Feature 0", exact: true }).waitFor();
  for (let turn = 0; turn < 20; turn++) await page.mouse.wheel(0, 2_000);
  await page.mouse.wheel(0, -100_000);
  await page.getByRole("switch").first().click();
  await page.getByRole("dialog").waitFor();
  const longest = await page.evaluate(() =>
    Math.max(0, ...(globalThis as unknown as { durations: number[] }).durations),
  );
  console.log(`longest interaction: ${Math.round(longest)} ms with ${FLAGS} flags`);
  expect(longest).toBeLessThanOrEqual(MOST_MS);
  await leave();
});
