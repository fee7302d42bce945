import { isFullSize, launchChromium } from "@halyard/services";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Application, removeBuild, startApplication } from "./application.ts";
import { type Visitor, visit } from "./visitor.ts";

let app: Application;
let browser: Browser;
let person: string;
const visitors = new Map<string, Visitor>();

const FLAG = "many-parts";

beforeAll(async () => {
  [app, browser] = await Promise.all([startApplication(), launchChromium()]);
  const ada = await app.account("Ada Lovelace", { role: "admin", plan: "pro" });
  person = ada.id;
  const { id } = await app.auth.api.createFeatureFlag({
    body: {
      key: FLAG,
      name: "Many parts",
      type: "boolean",
      enabled: true,
      offValue: false,
      rolloutPercentage: 50,
      variants: [
        { key: "a", weight: 50, value: true },
        { key: "b", weight: 50, value: false },
      ],
      environments: { production: { enabled: true, rolloutPercentage: 50 }, staging: { enabled: false } },
    },
  });
  const conditions = { conditions: [{ attribute: "user.plan", operator: "equals", value: "free" }] } as const;
  await app.auth.api.createFeatureFlagRule({
    body: { flagId: id, name: "Free plan", priority: 1, conditions, value: true, percentage: 50 },
  });
  await app.auth.api.createFeatureFlagSegment({ body: { key: "free", name: "Free plan", conditions } });
  await app.auth.api.createFeatureFlagOverride({
    body: { flagId: id, userId: ada.id, value: true, reason: "A test" },
  });
  await app.auth.api.evaluateFeatureFlag({
    body: { flagKey: FLAG, track: true, context: { userId: ada.id } },
  });
  for (const theme of ["light", "dark"] as const) {
    visitors.set(theme, await visit(browser, app, ada, { theme }));
  }
  visitors.set("phone", await visit(browser, app, ada, { width: 390 }));
});

afterAll(async () => {
  await browser.close();
  await app.close();
  await removeBuild();
});

const SCREENS = [
  "/",
  "/segments",
  "/people",
  "/people/PERSON",
  "/explain?flag=many-parts&user=PERSON",
  "/activity",
  "/history",
  "/audit",
  "/keys",
  "/health",
  ...["", "?tab=environments", "?tab=overrides", "?tab=activity", "?tab=history", "?tab=settings"].map(
    (tab) => `/flag/many-parts${tab}`,
  ),
];

/** A few screens in every test run, all of them in the long suite: axe takes seconds for each. */
const CHECKED = isFullSize
  ? SCREENS
  : ["/", "/explain?flag=many-parts&user=PERSON", "/flag/many-parts", "/flag/many-parts?tab=environments"];

async function show(look: string, path: string): Promise<Visitor> {
  const visitor = visitors.get(look);
  if (visitor === undefined) throw new Error(`No browser with the look ${look}.`);
  await visitor.open(path.replace("PERSON", person));
  await visitor.page.locator("h1").first().waitFor();
  await visitor.page.waitForFunction(() => document.querySelector(".skeleton") === null);
  return visitor;
}

describe.each(["light", "dark"])("in the %s theme", (theme) => {
  it.each(CHECKED)("axe finds no violation on %s", async (path) => {
    const visitor = await show(theme, path);
    // The two themes differ in colours only.
    expect(await visitor.findViolations(theme === "dark" ? ["color-contrast"] : undefined)).toEqual([]);
    expect(visitor.problems).toEqual([]);
  });

  it.runIf(theme === "light" || isFullSize)(
    "axe finds no violation in the switch's dialog, the palette, the shortcuts and the rule editor",
    async () => {
      const visitor = await show(theme, "/");
      const { page } = visitor;
      await page.getByRole("switch", { name: "Many parts, switch" }).click();
      await page
        .getByRole("dialog")
        .getByText(/person|people/)
        .first()
        .waitFor();
      const found = await visitor.findViolations();
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "hidden" });
      await page.keyboard.press("?");
      await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
      found.push(...(await visitor.findViolations()));
      await page.keyboard.press("Escape");
      await page.keyboard.press("Control+k");
      await page.getByPlaceholder("A flag, a person, a screen or an action").waitFor();
      found.push(...(await visitor.findViolations()));
      await show(theme, "/flag/many-parts");
      await page.getByRole("button", { name: "Edit Free plan" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Group" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Exception" }).first().click();
      found.push(...(await visitor.findViolations()));
      expect(found).toEqual([]);
    },
  );
});

it.each(CHECKED)("a phone shows %s without scrolling sideways", async (path) => {
  const { page } = await show("phone", path);
  const overflow = await page.evaluate(
    () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
  );
  expect(overflow).toBe(0);
});
