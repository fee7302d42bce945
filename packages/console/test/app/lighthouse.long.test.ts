/** Lighthouse on the main screens: its judgement of accessibility and best practices. Times depend on the machine. */
import { freePort, launchChromium } from "@halyard/services";
import lighthouse, { type Flags } from "lighthouse";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Account, type Application, removeBuild, startApplication } from "./application.ts";
import { cookiesOf } from "./visitor.ts";

const SCREENS = [
  "/",
  "/flag/checkout",
  "/people",
  "/explain?flag=checkout",
  "/history",
  "/activity",
  "/health",
];

let port: number;
let app: Application;
let ada: Account;
let browser: Awaited<ReturnType<typeof launchChromium>>;

beforeAll(async () => {
  port = await freePort();
  [app, browser] = await Promise.all([
    startApplication(),
    launchChromium([`--remote-debugging-port=${port}`]),
  ]);
  ada = await app.account("Ada Lovelace", { role: "admin" });
  await app.auth.api.createFeatureFlag({
    body: { key: "checkout", name: "Checkout", type: "boolean", offValue: false, rolloutPercentage: 50 },
  });
});

afterAll(async () => {
  await browser?.close();
  await app?.close();
  await removeBuild();
});

describe("Lighthouse", () => {
  it.each(SCREENS)("%s has accessibility 100 and best practices of at least 95", async (path) => {
    const cookies = await cookiesOf(app.url, ada);
    const flags: Flags = {
      port,
      onlyCategories: ["accessibility", "best-practices", "performance"],
      extraHeaders: { cookie: cookies.map(({ name, value }) => `${name}=${value}`).join("; ") },
      formFactor: "desktop",
      screenEmulation: { disabled: true },
      disableFullPageScreenshot: true,
      logLevel: "error",
    };
    const { lhr } = (await lighthouse(app.url + path, flags)) ?? {};
    const scoreOf = (name: string): number => Math.round((lhr?.categories[name]?.score ?? 0) * 100);
    const failed = Object.values(lhr?.audits ?? {})
      .filter(({ score, scoreDisplayMode }) => score !== null && score < 1 && scoreDisplayMode === "binary")
      .map(({ id }) => id);
    console.log(
      `${path}: accessibility ${scoreOf("accessibility")}, best practices ${scoreOf("best-practices")}, performance ${scoreOf("performance")}; failed: ${failed.join(", ") || "none"}`,
    );
    // Only the page of a signed-in person reads the revision.
    expect(requestsIn(lhr?.audits["network-requests"]?.details)).toContain("revision 200");
    expect(scoreOf("accessibility")).toBe(100);
    expect(scoreOf("best-practices")).toBeGreaterThanOrEqual(95);
  });
});

/** The last part of each path, and the status of its response. */
function requestsIn(details: unknown): string[] {
  const { items } = (details ?? {}) as { items?: readonly { url?: string; statusCode?: number }[] };
  return (items ?? []).map(({ url = "", statusCode }) => `${url.split("/").at(-1)} ${statusCode}`);
}
