/** Checks the list of flags. */
import { describe, expect, it, onTestFinished } from "vitest";
import type { Stage } from "../stage.ts";
import { untilCounted } from "./flag.ts";

export function checkList(stage: Stage): void {
  describe("the list of flags", () => {
    it("turns a flag off after showing whom it concerns, and back on by Undo", async () => {
      const { key, name } = await stage.createFlag();
      const { page } = await stage.enter();
      await page.getByLabel("Search flags").fill(key);
      await page.getByRole("switch", { name: `${name} in Production, switch` }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByText(/^6 people$/).waitFor();
      await dialog.getByRole("button", { name: "Turn off in Production" }).click();
      await page.getByText(`${name} is off in Production.`).waitFor();
      expect(await stage.valueFor(key, stage.ada.id)).toBe(false);
      await page.getByRole("button", { name: "Undo" }).click();
      await page.getByText(`${name} is as it was.`).waitFor();
      expect(await stage.valueFor(key, stage.ada.id)).toBe(true);
    });

    it("returns the focus to the switch when its dialog is closed by keyboard", async () => {
      const { key, name } = await stage.createFlag();
      const { page } = await stage.enter(`/?q=${key}`);
      const state = page.getByRole("switch", { name: `${name} in Production, switch` });
      await state.focus();
      await page.keyboard.press("Enter");
      await page.getByRole("dialog").waitFor();
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "hidden" });
      await expect.poll(() => state.evaluate((button) => button === document.activeElement)).toBe(true);
    });

    it("keeps search and filters in the address", async () => {
      const { key } = await stage.createFlag({ enabled: false });
      const { page } = await stage.enter();
      await page.getByLabel("Search flags").fill(key);
      await page.getByLabel("State").selectOption("off");
      await expect.poll(() => page.url()).toContain(`q=${key}`);
      await page.reload();
      await page.getByRole("link", { name: /Feature number/ }).waitFor();
      expect(await page.getByLabel("Search flags").inputValue()).toBe(key);
      await page.getByLabel("State").selectOption("on");
      await page.getByText("No flag matches").waitFor();
    });

    it("creates a flag from a name by keyboard alone", async () => {
      const { page } = await stage.enter();
      await page.keyboard.press("n");
      await page.getByRole("dialog", { name: "New flag" }).waitFor();
      await page.keyboard.type("Keyboard first");
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "Keyboard first", level: 1 }).waitFor();
      const { flags } = await stage.app.auth.api.listFeatureFlags({ query: { prefix: "keyboard-first" } });
      // Turning it on changes no value yet.
      expect(flags).toMatchObject([
        { enabled: false, offValue: false, type: "boolean", rolloutPercentage: 0 },
      ]);
    });

    it("finds a flag with the command palette", async () => {
      const { key, name } = await stage.createFlag({ name: "Found by palette" });
      // So that another flag is the first one before the search.
      await stage.createFlag();
      const { page } = await stage.enter();
      await page.keyboard.press("Control+k");
      await page.getByPlaceholder("A flag, a person, a screen or an action").fill(key);
      await page.getByRole("option", { name: new RegExp(name) }).waitFor();
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name, level: 1 }).waitFor();
    });

    it("turns a flag off from the command palette, through the same dialog", async () => {
      const { key, name } = await stage.createFlag({ name: "Turned off by palette" });
      const { page } = await stage.enter();
      await page.keyboard.press("Control+k");
      await page.getByPlaceholder("A flag, a person, a screen or an action").fill(key);
      await page.getByRole("option", { name: `Turn off ${name}` }).click();
      await page
        .getByRole("dialog")
        .getByRole("button", { name: /Turn off/ })
        .click();
      await expect.poll(() => stage.valueFor(key, stage.ada.id)).toBe(false);
    });

    it("says who gets a flag: its rules, then everyone else, in the environment of the application", async () => {
      const { id, key } = await stage.createFlag({
        rolloutPercentage: 26,
        environments: { production: { rolloutPercentage: 25 } },
      });
      await stage.app.auth.api.createFeatureFlagRule({
        body: { flagId: id, priority: 1, conditions: { conditions: [] }, value: true },
      });
      const { page } = await stage.enter(`/?q=${key}`);
      await page.getByText("1 rule, then 25%").waitFor();
      await page.getByText("Who gets it in Production").waitFor();
    });

    it("offers a declared flag that does not exist, with its default value", async () => {
      const { page } = await stage.enter();
      await page.getByRole("button", { name: "Create declared-banner" }).click();
      await page.getByText("declared-banner was created. It is off.").waitFor();
      const flag = await stage.app.auth.api.getFeatureFlag({ params: { id: "key:declared-banner" } });
      expect(flag).toMatchObject({ type: "string", enabled: false, defaultValue: "sale" });
    });

    it("reads the evaluations of all flags in view with one request", async () => {
      const keys = [(await stage.createFlag()).key, (await stage.createFlag()).key];
      for (const flagKey of keys) await stage.app.auth.api.evaluateFeatureFlag({ body: { flagKey } });
      const { page } = await stage.enter("/health");
      let requests = 0;
      page.on("request", (request) => {
        if (/\/(evaluations|stats)$/.test(new URL(request.url()).pathname)) requests += 1;
      });
      await page.getByRole("link", { name: "Flags", exact: true }).first().click();
      await page.getByRole("row").nth(1).waitFor();
      await expect.poll(() => page.locator(".sparkline:not(:has(polyline))").count()).toBe(0);
      expect(requests).toBe(1);
    });

    it("names the person who changed a flag last, also for a person who may not see other users", async () => {
      const { key, name } = await stage.createFlag();
      const changer = await stage.enter(`/flag/${key}?tab=settings`);
      await changer.page.getByLabel("Description").fill("Changed by Ada");
      await untilCounted(changer.page);
      await changer.page.getByRole("button", { name: /^Save/ }).click();
      await changer.page.getByText("Nobody moved.").waitFor();
      const { page } = await stage.enter(`/?q=${key}`, { account: stage.auditor });
      await page
        .getByRole("row", { name: new RegExp(name) })
        .getByText("Ada Lovelace")
        .waitFor();
    });

    it("says that the server does not answer, and recovers", async () => {
      const { page, untilLater } = await stage.enter("/", { hasClock: true });
      const notice = page.getByText("The server does not answer. What you see may be out of date.");
      onTestFinished(() => stage.app.setLost(false));
      stage.app.setLost(true);
      await untilLater(() => notice.isVisible(), true);
      stage.app.setLost(false);
      await page.getByRole("button", { name: "Try again" }).first().click();
      await notice.waitFor({ state: "hidden" });
    });
  });
}
