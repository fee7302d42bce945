/** Checks that people who use a keyboard, a screen reader, other colours or a phone can use the screens. */
import { beforeAll, describe, expect, it } from "vitest";
import type { Stage } from "../stage.ts";
import type { Visitor } from "../visitor.ts";

const FLAG = "many-parts";

const SCREENS: readonly string[] = [
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
const FEW: readonly string[] = [
  "/",
  "/explain?flag=many-parts&user=PERSON",
  "/flag/many-parts",
  "/flag/many-parts?tab=environments",
];

const LOOKS = { light: {}, dark: { theme: "dark" }, phone: { width: 390 } } as const;

/** `checksAll`: every screen in both themes. */
export function checkAccessibility(stage: Stage, checksAll: boolean): void {
  const checked = checksAll ? SCREENS : FEW;

  async function show(look: keyof typeof LOOKS, path: string): Promise<Visitor> {
    const visitor = await stage.enter(path.replace("PERSON", stage.ada.id), LOOKS[look]);
    await visitor.page.waitForFunction(() => document.querySelector(".skeleton") === null);
    return visitor;
  }

  describe("accessibility", () => {
    beforeAll(async () => {
      const { id } = await stage.app.auth.api.createFeatureFlag({
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
      const conditions = {
        conditions: [{ attribute: "user.plan", operator: "equals", value: "free" }],
      } as const;
      await stage.app.auth.api.createFeatureFlagRule({
        body: { flagId: id, name: "Free plan", priority: 1, conditions, value: true, percentage: 50 },
      });
      await stage.app.auth.api.createFeatureFlagSegment({
        body: { key: "free", name: "Free plan", conditions },
      });
      await stage.app.auth.api.createFeatureFlagOverride({
        body: { flagId: id, userId: stage.ada.id, value: true, reason: "A test" },
      });
      await stage.app.auth.api.evaluateFeatureFlag({
        body: { flagKey: FLAG, track: true, context: { userId: stage.ada.id } },
      });
    });

    describe.each(["light", "dark"] as const)("in the %s theme", (theme) => {
      it.each(checked)("axe finds no violation on %s", async (path) => {
        const visitor = await show(theme, path);
        // The two themes differ in colours only.
        expect(await visitor.findViolations(theme === "dark" ? ["color-contrast"] : undefined)).toEqual([]);
        expect(visitor.problems).toEqual([]);
      });

      it.runIf(theme === "light" || checksAll)(
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
          await visitor.open("/flag/many-parts");
          await page.getByRole("button", { name: "Free plan", exact: true }).click();
          await page.getByRole("button", { name: "Group" }).click();
          await page.getByRole("button", { name: "Exception" }).first().click();
          found.push(...(await visitor.findViolations()));
          expect(found).toEqual([]);
        },
      );
    });

    it.each(checked)("a phone shows %s without scrolling sideways", async (path) => {
      const { page } = await show("phone", path);
      const overflow = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      expect(overflow).toBe(0);
    });
  });
}
