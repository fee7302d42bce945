/** Checks the other screens. */
import { describe, expect, it } from "vitest";
import type { Stage } from "../stage.ts";
import { untilCounted } from "./flag.ts";

export function checkScreens(stage: Stage): void {
  describe("other screens", () => {
    it("Explain shows each step for a person, and what would change it", async () => {
      const flag = await stage.createFlag({ rolloutPercentage: 0 });
      await stage.app.auth.api.createFeatureFlagRule({
        body: {
          flagId: flag.id,
          name: "Paying",
          priority: 1,
          conditions: { conditions: [{ attribute: "user.plan", operator: "equals", value: "pro" }] },
          value: true,
        },
      });
      const { page, open } = await stage.enter(`/explain?flag=${flag.key}&user=${stage.people[0].id}`);
      await page.getByRole("heading", { name: /^Bob Stone gets false from .* in Production$/ }).waitFor();
      await page.getByText('user.plan is "free", needs "pro"').waitFor();
      await page.getByText("Raise the rollout to at least").waitFor();
      await open(`/explain?flag=${flag.key}&user=${stage.ada.id}`);
      await page.getByText("matches", { exact: true }).waitFor();
      await page.getByRole("heading", { name: /^Ada Lovelace gets true/ }).waitFor();
      await page.getByText("1 condition holds").waitFor();
    });

    it("People shows every flag of a person, with overrides in place", async () => {
      const { key, name } = await stage.createFlag({ rolloutPercentage: 0 });
      const { page } = await stage.enter("/people");
      await page.getByRole("link", { name: /Cleo Park/ }).click();
      await page.getByRole("heading", { name: "Cleo Park" }).waitFor();
      await page.getByRole("button", { name: `Override ${name}`, exact: true }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Add override" }).click();
      await page.getByRole("button", { name: `Remove the override of ${name}`, exact: true }).waitFor();
      expect(await stage.valueFor(key, stage.people[1].id)).toBe(true);
    });

    it("a person who is chosen right after the search opens, however long that screen takes to load", async () => {
      const { page } = await stage.enter("/people", { isAlone: true });
      const person = page.getByRole("link", { name: /Cleo Park/ });
      await person.waitFor();
      const loading = Promise.withResolvers<void>();
      const released = Promise.withResolvers<void>();
      await page.route(/person-screen[^/]*\.js/, async (route) => {
        loading.resolve();
        await released.promise;
        await route.continue();
      });
      await page.clock.install();
      // Both in one task of the page, so that the search still waits when the link is pressed.
      await page.evaluate(() => {
        const field = document.querySelector<HTMLInputElement>("input[type=search]");
        Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value")?.set?.call(field, "Cleo");
        field?.dispatchEvent(new Event("input", { bubbles: true }));
        [...document.querySelectorAll("a")].find((link) => link.textContent.includes("Cleo Park"))?.click();
      });
      await loading.promise;
      await page.clock.fastForward(1_000);
      released.resolve();
      await page.getByRole("heading", { name: "Cleo Park" }).waitFor();
    });

    it("History shows the difference of a change, and reverts it", async () => {
      const { id, key } = await stage.createFlag({ rolloutPercentage: 10 });
      await stage.app.auth.api.updateFeatureFlag({ body: { id, rolloutPercentage: 90 } });
      const { page } = await stage.enter(`/flag/${key}?tab=history`);
      await page.getByText("90%").waitFor();
      await page.getByRole("button", { name: /Revert: changed the rollout/ }).click();
      await page
        .getByRole("dialog")
        .getByText(/people|person/)
        .first()
        .waitFor();
      await page.getByRole("dialog").getByRole("button", { name: "Revert" }).click();
      await page.getByText("The change was reverted.").waitFor();
      const flag = await stage.app.auth.api.getFeatureFlag({ params: { id } });
      expect(flag.rolloutPercentage).toBe(10);
    });

    it("History tells how a rule changed as sentences", async () => {
      const { id } = await stage.createFlag({ name: "Ruled" });
      const conditions = (value: string) => ({
        conditions: [{ attribute: "user.plan", operator: "equals" as const, value }],
      });
      const rule = await stage.app.auth.api.createFeatureFlagRule({
        body: { flagId: id, priority: 1, conditions: conditions("pro"), value: true },
      });
      await stage.app.auth.api.updateFeatureFlagRule({
        body: { flagId: id, ruleId: rule.id, conditions: conditions("team") },
      });
      const { page } = await stage.enter("/history");
      await page.getByText('If user.plan is "pro": true').first().waitFor();
      expect(await page.locator(".word-diff .new").first().textContent()).toBe('"team"');
    });

    it("History with hashes verifies the chain and exports the log", async () => {
      await stage.createFlag();
      const { page } = await stage.enter("/history");
      await page.getByRole("radio", { name: "Changes" }).focus();
      await page.keyboard.press("ArrowRight");
      await page.waitForURL(/\/audit/);
      await page.getByRole("button", { name: "Verify" }).click();
      await page.getByText("The log is complete.").waitFor();
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("button", { name: "Export" }).click(),
      ]);
      expect(download.suggestedFilename()).toMatch(/^flags-audit-.*\.jsonl$/);
    });

    it("Segments are created once and used by rules by their name", async () => {
      const { key } = await stage.createFlag();
      const { page, open } = await stage.enter("/segments");
      await page.getByRole("button", { name: "New segment" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Name").fill("Paying customers");
      await dialog.getByRole("combobox", { name: "Attribute" }).fill("user.plan");
      await dialog.getByRole("combobox", { name: "Value", exact: true }).fill("pro");
      await dialog.getByRole("button", { name: "Save segment" }).click();
      await page.getByText("The segment was saved.").waitFor();
      await open(`/flag/${key}`);
      await page.getByRole("button", { name: "Add rule" }).click();
      await page.getByRole("button", { name: "Remove the condition" }).click();
      await page.getByRole("button", { name: "Segment", exact: true }).click();
      await page.getByRole("combobox", { name: "In the segment" }).selectOption("Paying customers");
      await untilCounted(page);
      await page.keyboard.press("Control+s");
      await page.getByText("Saved to Production").waitFor();
      await open("/segments");
      await page.getByRole("button", { name: /Paying customers/ }).click();
      await page.getByRole("menuitem", { name: "Edit" }).click();
      await dialog.getByRole("combobox", { name: "Value", exact: true }).fill("free");
      await dialog.getByText("No value changes").waitFor();
      await dialog.getByRole("button", { name: "Save segment" }).click();
      await dialog.waitFor({ state: "hidden" });
    });

    it("A segment is deleted after a question, and while something uses it the dialog names that", async () => {
      const segment = `segment-${Date.now()}`;
      const conditions = { conditions: [{ attribute: "email", operator: "equals", value: "a" }] } as const;
      await stage.app.auth.api.createFeatureFlagSegment({ body: { key: segment, conditions } });
      const flag = await stage.createFlag();
      const rule = await stage.app.auth.api.createFeatureFlagRule({
        body: { flagId: flag.id, priority: 1, value: true, conditions: { conditions: [{ segment }] } },
      });
      const { page } = await stage.enter("/segments");
      await page.getByRole("button", { name: `Actions for ${segment}` }).click();
      await page.getByRole("menuitem", { name: "Delete" }).click();
      const dialog = page.getByRole("dialog", { name: `Delete ${segment}?` });
      await dialog.getByRole("button", { name: "Delete segment" }).click();
      await dialog.getByText(`still used by the flag "${flag.key}"`).waitFor();
      await stage.app.auth.api.deleteFeatureFlagRule({ body: { flagId: flag.id, ruleId: rule.id } });
      await dialog.getByRole("button", { name: "Delete segment" }).click();
      await page.getByText(`${segment} was deleted.`).waitFor();
      await page.getByRole("button", { name: `Actions for ${segment}` }).waitFor({ state: "detached" });
    });

    it("API keys show their secret once, and stop working when they are deleted", async () => {
      const { page } = await stage.enter("/keys");
      await page.getByRole("button", { name: "New key" }).click();
      await page.getByLabel("Name").fill("Deployment");
      await page.getByRole("dialog").getByRole("button", { name: "New key" }).click();
      const secret = await page.getByLabel("Key", { exact: true }).inputValue();
      const list = () =>
        fetch(`${new URL(stage.app.url).origin}/api/auth/feature-flags/admin/flags`, {
          headers: { "x-api-key": secret },
        });
      expect((await list()).status).toBe(200);
      await page.getByRole("button", { name: "Done" }).click();
      await page.getByRole("button", { name: "Delete Deployment" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Delete key" }).click();
      await page.getByText("Deployment was deleted.").waitFor();
      expect((await list()).status).toBe(401);
    });

    it("Activity and Health show the figures of the server", async () => {
      const { key } = await stage.createFlag();
      for (let i = 0; i < 5; i++) await stage.app.auth.api.evaluateFeatureFlag({ body: { flagKey: key } });
      const { page, open } = await stage.enter("/activity");
      await page.getByText("Evaluations by reason").waitFor();
      await open("/health");
      await page.getByText("Everything works").waitFor();
      await page.getByRole("row", { name: /\(this one\) Current/ }).waitFor();
    });
  });
}
