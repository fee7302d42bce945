/** Checks one flag. */
import { describe, expect, it } from "vitest";
import type { Stage } from "../stage.ts";

export function checkFlag(stage: Stage): void {
  describe("a flag", () => {
    it("rolls out to a share of users after a review of the change", async () => {
      const { key } = await stage.createFlag({ rolloutPercentage: 0 });
      const { page } = await stage.enter(`/flag/${key}`);
      await page.getByRole("button", { name: "100 %" }).click();
      await page.getByRole("button", { name: "Review and save" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByText(/^6 people$/).waitFor();
      await dialog.getByRole("button", { name: "Save" }).click();
      await page.getByText("was saved").waitFor();
      expect(await stage.valueFor(key, stage.ada.id)).toBe(true);
    });

    it("splits into variants whose weights always sum to 100", async () => {
      const { key } = await stage.createFlag({
        type: "string",
        offValue: "off",
        rolloutPercentage: undefined,
      });
      const { page } = await stage.enter(`/flag/${key}`);
      await page.getByRole("button", { name: "Split into variants" }).click();
      await page.getByRole("button", { name: "Add variant" }).click();
      await page.getByLabel("Weight of variant-3 in percent").fill("20");
      await page.getByRole("button", { name: "Review and save" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
      await page.getByText("was saved").waitFor();
      const flag = await stage.app.auth.api.getFeatureFlag({ params: { id: `key:${key}` } });
      expect(flag.variants?.map(({ weight }) => weight)).toEqual([40, 40, 20]);
    });

    it("shows both changes when another person changed it in the meantime, and lets the person decide", async () => {
      const { id, key } = await stage.createFlag({ rolloutPercentage: 10 });
      const { page } = await stage.enter(`/flag/${key}`);
      await page.getByLabel("Rollout in percent").fill("50");
      await page.getByRole("button", { name: "Review and save" }).click();
      const review = page.getByRole("dialog");
      await review
        .getByText(/person|people/)
        .first()
        .waitFor();
      await stage.app.auth.api.updateFeatureFlag({ body: { id, rolloutPercentage: 20 } });
      await review.getByRole("button", { name: "Save" }).click();
      const conflict = page.getByRole("dialog", { name: "Another person changed this flag" });
      await conflict.getByRole("button", { name: "Apply mine" }).click();
      await page.getByText("was saved").waitFor();
      const flag = await stage.app.auth.api.getFeatureFlag({ params: { id } });
      expect(flag.rolloutPercentage).toBe(50);
    });

    it("edits JSON values in an editor that marks mistakes, under the strict policy", async () => {
      const { key } = await stage.createFlag({
        type: "json",
        offValue: { limit: 1 },
        rolloutPercentage: undefined,
      });
      const visitor = await stage.enter(`/flag/${key}`);
      const { page } = visitor;
      const editor = page.getByRole("textbox", { name: "Value while off" });
      await page.locator(".cm-content").first().waitFor();
      // The editor's own styles are in an element with the nonce.
      const display = await page
        .locator(".cm-scroller")
        .first()
        .evaluate((box) => getComputedStyle(box).display);
      expect(display).toBe("flex");
      // Chromium keeps the look of replaced text by inline styles, which the policy blocks and reports.
      const retype = async (text: string) => {
        await editor.press("ControlOrMeta+a");
        await editor.press("Delete");
        await page.keyboard.insertText(text);
      };
      await retype('{"limit": }');
      await page.getByRole("alert").filter({ hasText: "JSON" }).waitFor();
      await retype('{"limit": 5}');
      await page.getByRole("alert").filter({ hasText: "JSON" }).waitFor({ state: "hidden" });
      expect(await visitor.findViolations()).toEqual([]);
      await page.getByRole("button", { name: "Review and save" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
      await page.getByText("was saved").waitFor();
      const flag = await stage.app.auth.api.getFeatureFlag({ params: { id: `key:${key}` } });
      expect(flag.offValue).toEqual({ limit: 5 });
    });

    it("gets a rule that reads as a sentence and counts the people who match", async () => {
      const { key } = await stage.createFlag({ rolloutPercentage: 0 });
      const { page } = await stage.enter(`/flag/${key}`);
      await page.getByRole("button", { name: "Add rule" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Attribute").fill("user.plan");
      await dialog.getByLabel("Comparison").selectOption("equals");
      await dialog.getByLabel("Value", { exact: true }).first().fill("pro");
      await dialog.getByText('user.plan is "pro"').waitFor();
      await dialog.getByText("1 of 6 people match.").waitFor();
      await dialog.getByRole("button", { name: "Save rule" }).click();
      await page.getByText("The rule was saved.").waitFor();
      expect([
        await stage.valueFor(key, stage.ada.id),
        await stage.valueFor(key, stage.people[0].id),
      ]).toEqual([true, false]);
    });

    it("orders its rules by keyboard, and marks a rule that is never reached", async () => {
      const flag = await stage.createFlag();
      const add = (name: string, priority: number, conditions: object) =>
        stage.app.auth.api.createFeatureFlagRule({
          body: { flagId: flag.id, name, priority, conditions: conditions as never, value: true },
        });
      await add("First", 1, { conditions: [] });
      await add("Second", 2, { conditions: [{ attribute: "user.plan", operator: "equals", value: "pro" }] });
      const { page } = await stage.enter(`/flag/${flag.key}`);
      await page.getByText("Never reached: rule 1 takes all of these users.").waitFor();
      await page.getByRole("button", { name: "Move Second up" }).focus();
      await page.keyboard.press("Enter");
      await page.getByText("Never reached").waitFor({ state: "hidden" });
      const names = async () =>
        (await stage.app.auth.api.listFeatureFlagRules({ params: { flagId: flag.id } })).rules.map(
          ({ name }) => name,
        );
      await expect.poll(names).toEqual(["Second", "First"]);
    });

    it("has a value of its own for one person until the override is removed", async () => {
      const { key } = await stage.createFlag({ rolloutPercentage: 0 });
      const { page } = await stage.enter(`/flag/${key}?tab=overrides`);
      await page.getByRole("button", { name: "Add override" }).click();
      await page.getByRole("combobox", { name: "Person" }).fill("Bob");
      await page.getByRole("option", { name: /Bob Stone/ }).waitFor();
      await page.keyboard.press("Enter");
      await page.getByRole("dialog").getByRole("button", { name: "Add override" }).click();
      await page.getByText("The override was added.").waitFor();
      const bob = stage.people[0].id;
      expect(await stage.valueFor(key, bob)).toBe(true);
      await page.getByRole("button", { name: "Remove the override" }).click();
      await page.getByText("The override was removed.").waitFor();
      expect(await stage.valueFor(key, bob)).toBe(false);
    });
  });
}
