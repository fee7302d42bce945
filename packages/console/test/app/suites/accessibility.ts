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
          await page.getByRole("switch", { name: "Many parts in Production, switch" }).click();
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

    it("Escape closes an open list first, and then the dialog around it", async () => {
      const { page } = await stage.enter("/flag/many-parts?tab=overrides");
      await page.getByRole("button", { name: "Add override" }).click();
      const field = page.getByRole("combobox", { name: "Person" });
      await field.fill("Grace");
      await page.getByRole("option", { name: /Grace Hopper/ }).waitFor();
      expect(await field.getAttribute("aria-activedescendant")).toBe(
        await page.getByRole("option", { name: /Grace Hopper/ }).getAttribute("id"),
      );
      await page.keyboard.press("Escape");
      await page.getByRole("listbox").waitFor({ state: "hidden" });
      await field.fill("Nobody at all");
      await page.getByRole("option", { name: "Nothing found" }).waitFor();
      await page.keyboard.press("Escape");
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "hidden" });
    });

    it("nothing moves for a person who prefers less motion", async () => {
      const { page } = await stage.enter("/?create=true");
      await page.getByRole("dialog").waitFor();
      const moving = await page.evaluate(
        () =>
          [...document.querySelectorAll("*")].filter((element) => {
            const { animationName, transitionDuration } = getComputedStyle(element);
            return animationName !== "none" || !/^0s/.test(transitionDuration);
          }).length,
      );
      expect(moving).toBe(0);
    });

    it.each(checked)("on a phone, every control of %s takes at least 44 pixels", async (path) => {
      const { page } = await show("phone", path);
      expect(await page.evaluate(findSmallTargets)).toEqual([]);
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

/** Controls that a finger 22 pixels above or below their middle would miss. Links in sentences are exempt. */
function findSmallTargets(): string[] {
  const controls = document.querySelectorAll<HTMLElement>(
    "button:not(.skip), select, input, textarea, summary, [role=switch], a.button, a.nav-link, a.row-link",
  );
  return [...controls].flatMap((control) => {
    if (!control.checkVisibility() || control.closest("p, [hidden]") !== null) return [];
    control.scrollIntoView({ block: "center" });
    const { left, top, width, height } = control.getBoundingClientRect();
    if (width === 0 || left < 0 || left >= innerWidth) return [];
    const isHit = [-21, 21].every((distance) => {
      const found = document.elementFromPoint(left + width / 2, top + height / 2 + distance);
      return found !== null && (control.contains(found) || found.closest("label")?.control === control);
    });
    return isHit ? [] : [`${control.outerHTML.slice(0, 120)} (${Math.round(height)} px)`];
  });
}
