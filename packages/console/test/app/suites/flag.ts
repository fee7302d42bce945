/** Checks one flag: its targeting is one draft. */
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import type { Stage } from "../stage.ts";

const PRO = { conditions: [{ attribute: "user.plan", operator: "equals", value: "pro" }] } as const;

export function checkFlag(stage: Stage): void {
  const addRule = (flagId: string, name: string, priority: number, fields: object = {}) =>
    stage.app.auth.api.createFeatureFlagRule({
      body: { flagId, name, priority, conditions: PRO, value: true, ...fields },
    });
  const rulesOf = async (flagId: string) =>
    (await stage.app.auth.api.listFeatureFlagRules({ params: { flagId } })).rules;

  describe("a flag", () => {
    it("rolls out to a share of users, with the people who move beside the draft", async () => {
      const { key } = await stage.createFlag({ rolloutPercentage: 0 });
      const { page } = await stage.enter(`/flag/${key}`);
      await page.getByLabel("Rollout in percent").fill("100");
      await untilCounted(page, /6 people go from/);
      await page.getByText("6 get it now").waitFor({ state: "hidden" });
      await page.getByText("6 after").waitFor();
      expect(await stage.valueFor(key, stage.ada.id)).toBe(false);
      await page.getByRole("button", { name: /Save to Production/ }).click();
      await page.getByText("6 people moved.").waitFor();
      expect(await stage.valueFor(key, stage.ada.id)).toBe(true);
    });

    it("says how many get it now and after, even when a change takes it away", async () => {
      const { key } = await stage.createFlag({ rolloutPercentage: 100 });
      const { page } = await stage.enter(`/flag/${key}`);
      await page.getByLabel("Rollout in percent").fill("0");
      await untilCounted(page, /6 people go from/);
      await page.getByText("6 get it now").waitFor();
      await page.getByText("0 after").waitFor();
    });

    it("keeps every key and the place of the caret while a person types into a rule", async () => {
      const { key } = await stage.createFlag();
      const { page } = await stage.enter(`/flag/${key}`);
      await page.getByRole("button", { name: "Add rule" }).click();
      const name = page.getByRole("textbox", { name: "Name" });
      await name.focus();
      await page.keyboard.type("Our staff");
      for (const _ of "staff") await page.keyboard.press("ArrowLeft");
      await page.keyboard.type("own ");
      expect(await name.inputValue()).toBe("Our own staff");
    });

    it("takes a save back with one press, all of its rules included", async () => {
      const flag = await stage.createFlag({ rolloutPercentage: 0 });
      await addRule(flag.id, "Kept", 1);
      await addRule(flag.id, "Gone", 2);
      const { page } = await stage.enter(`/flag/${flag.key}`);
      await page.getByLabel("Rollout in percent").fill("100");
      await page.getByRole("switch", { name: "Kept, switch" }).click();
      await choose(page, "Actions for Gone", "Delete Gone");
      await untilCounted(page);
      await page.getByText("3 changes in Production").waitFor();
      await page.getByRole("button", { name: /Save to Production/ }).click();
      await page.getByText("Saved to Production").waitFor();
      expect(await rulesOf(flag.id)).toMatchObject([{ name: "Kept", enabled: false }]);
      await page.keyboard.press("Control+z");
      await page.getByText("Saved to Production").waitFor({ state: "hidden" });
      expect(await rulesOf(flag.id)).toMatchObject([
        { name: "Kept", enabled: true },
        { name: "Gone", enabled: true },
      ]);
      expect(await stage.valueFor(flag.key, stage.people[0].id)).toBe(false);
    });

    it("saves nothing before its count was shown, however fast the person is", async () => {
      const { key } = await stage.createFlag({ rolloutPercentage: 0 });
      const { page } = await stage.enter(`/flag/${key}`);
      await page.getByText("Who gets it now").waitFor();
      await page.getByLabel("Rollout in percent").fill("100");
      await page.keyboard.press("Control+s");
      await page.getByText("This is the count now. Save again to use it.").waitFor();
      await page.getByText(/6 people go from/).waitFor();
      expect(await stage.valueFor(key, stage.ada.id)).toBe(false);
      await page.keyboard.press("Control+s");
      await page.getByText("6 people moved.").waitFor();
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
      await untilCounted(page);
      await page.getByRole("button", { name: /Save to Production/ }).click();
      await page.getByText("Saved to Production").waitFor();
      const flag = await stage.app.auth.api.getFeatureFlag({ params: { id: `key:${key}` } });
      expect(flag.variants?.map(({ weight }) => weight)).toEqual([40, 40, 20]);
    });

    it("edits JSON values in an editor that marks mistakes, under the strict policy", async () => {
      const { key } = await stage.createFlag({
        type: "json",
        offValue: { limit: 1 },
        rolloutPercentage: undefined,
      });
      const visitor = await stage.enter(`/flag/${key}`);
      const { page } = visitor;
      await page.getByRole("button", { name: "Change", exact: true }).click();
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
      await untilCounted(page);
      await page.getByRole("button", { name: /Save to Production/ }).click();
      await page.getByText("Saved to Production").waitFor();
      const flag = await stage.app.auth.api.getFeatureFlag({ params: { id: `key:${key}` } });
      expect(flag.environments?.["production"]?.offValue).toEqual({ limit: 5 });
    });

    it("gets a rule that starts empty, reads as a sentence, and cannot be saved before it is complete", async () => {
      const { id, key } = await stage.createFlag({ rolloutPercentage: 0 });
      const { page } = await stage.enter(`/flag/${key}`);
      await page.getByRole("button", { name: "Add rule" }).click();
      await page.getByText("Not counted yet.").first().waitFor();
      const unfinished = page.getByText("Rule 1 is not complete.");
      const problem = page.getByText("Choose an attribute, or remove this condition.");
      expect([await unfinished.count(), await problem.count()]).toEqual([0, 0]);
      await page.getByRole("button", { name: /Save to Production/ }).click();
      await problem.waitFor();
      await unfinished.waitFor();
      expect(await rulesOf(id)).toEqual([]);
      const attribute = page.getByRole("combobox", { name: "Attribute" });
      expect(await attribute.evaluate((field) => field === document.activeElement)).toBe(true);
      await attribute.fill("user.pl");
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("Enter");
      await page.getByText("Enter a value, or remove this condition.").waitFor();
      await page.getByRole("combobox", { name: "Value", exact: true }).fill("pro");
      await untilCounted(page, /1 person goes from/);
      await page.getByRole("button", { name: /Save to Production/ }).click();
      await page.getByText("1 person moved.").waitFor();
      const rule = page.locator("[data-rule]");
      await rule.getByRole("button", { name: "Rule 1", exact: true }).press("Escape");
      await rule.getByText("user.plan").waitFor();
      expect([
        await stage.valueFor(key, stage.ada.id),
        await stage.valueFor(key, stage.people[0].id),
      ]).toEqual([true, false]);
    });

    it("says that a rule is not complete once the person has left it, and leads back to it", async () => {
      const { key } = await stage.createFlag();
      const { page } = await stage.enter(`/flag/${key}`);
      await page.getByRole("button", { name: "Add rule" }).click();
      const attribute = page.getByRole("combobox", { name: "Attribute" });
      await attribute.fill("user.plan");
      await page.getByText("Not counted yet.").first().waitFor();
      expect(await page.getByText("Rule 1 is not complete.").count()).toBe(0);
      await attribute.press("Escape");
      await attribute.press("Escape");
      await attribute.waitFor({ state: "hidden" });
      await page.getByText("Rule 1 is not complete.").waitFor();
      await page.getByRole("button", { name: "Show it" }).click();
      await page.getByText("Enter a value, or remove this condition.").waitFor();
      const value = page.getByRole("combobox", { name: "Value", exact: true });
      await expect.poll(() => value.evaluate((field) => field === document.activeElement)).toBe(true);
    });

    it("keeps what is typed of a number until it is one, and counts no part of it", async () => {
      const flag = await stage.createFlag();
      const condition = { attribute: "user.age", operator: "greater_than", value: 18 };
      await addRule(flag.id, "Grown", 1, { conditions: { conditions: [condition] } });
      const { page } = await stage.enter(`/flag/${flag.key}`);
      await page.getByRole("button", { name: "Grown", exact: true }).click();
      const value = page.getByRole("spinbutton", { name: "Value", exact: true });
      await value.focus();
      await page.keyboard.press("ControlOrMeta+a");
      for (const [typed, isNumber] of [
        ["-", false],
        ["-2", true],
        ["-2.", true],
        ["-2.5", true],
        ["-2.5e", false],
        ["-2.5e1", true],
      ] as const) {
        await page.keyboard.type(typed.slice(-1));
        if (isNumber) await page.getByText("Not counted yet.").first().waitFor({ state: "hidden" });
        else await page.getByText("Not counted yet.").first().waitFor();
        expect(await value.inputValue()).toBe(typed);
      }
      await untilCounted(page);
      await page.getByRole("button", { name: /Save to Production/ }).click();
      await page.getByText("Saved to Production").waitFor();
      expect(await rulesOf(flag.id)).toMatchObject([{ conditions: { conditions: [{ value: -25 }] } }]);
    });

    it("keeps the state of each condition when one before it is removed", async () => {
      const flag = await stage.createFlag();
      const conditions = ["a", "b", "c"].map((value) => ({
        attribute: "user.plan",
        operator: "in",
        value: [value],
      }));
      await addRule(flag.id, "Plans", 1, { conditions: { conditions } });
      const { page } = await stage.enter(`/flag/${flag.key}`);
      await page.getByRole("button", { name: "Plans", exact: true }).click();
      const values = page.getByRole("textbox", { name: "Value", exact: true });
      await values.nth(1).fill("b, ");
      await page.getByRole("button", { name: "Remove the condition" }).first().click();
      await expect.poll(() => values.count()).toBe(2);
      expect(await values.first().inputValue()).toBe("b, ");
    });

    it("asks before the window closes with a draft in it, and not without one", async () => {
      const { key } = await stage.createFlag();
      const { page } = await stage.enter(`/flag/${key}`);
      const asked: string[] = [];
      page.on("dialog", (dialog) => {
        asked.push(dialog.type());
        void dialog.dismiss();
      });
      await page.getByLabel("Rollout in percent").click();
      await page.keyboard.press("ArrowDown");
      await page.getByText("1 change in Production").waitFor();
      await page.close({ runBeforeUnload: true });
      await expect.poll(() => asked).toEqual(["beforeunload"]);
      await page.getByRole("button", { name: "Discard" }).click();
      await page.close({ runBeforeUnload: true });
      await expect.poll(() => page.isClosed()).toBe(true);
      expect(asked).toHaveLength(1);
    });

    it("that is new reaches only the people of its rule when it is turned on, and says so before", async () => {
      const { page } = await stage.enter("/?create=true");
      await page.getByLabel("Name").fill("Said before");
      await page.keyboard.press("Enter");
      await page.getByText("If you turn it on").waitFor();
      await page.getByText("of 6 people move").waitFor();
      await page.getByRole("button", { name: "Add rule" }).click();
      await page.getByRole("combobox", { name: "Attribute" }).fill("user.plan");
      await page.getByRole("combobox", { name: "Value", exact: true }).fill("pro");
      expect(await page.getByLabel("Rollout in percent").inputValue()).toBe("0");
      await expect
        .poll(() => page.getByRole("heading", { name: "If you turn it on" }).locator("..").allInnerTexts())
        .toEqual([expect.stringMatching(/1\s+of 6 people move/)]);
    });

    it("warns at an attribute that callers can claim, for as long as the rule has it", async () => {
      const flag = await stage.createFlag();
      const conditions = { conditions: [{ attribute: "attributes.team", operator: "equals", value: "a" }] };
      await addRule(flag.id, "Claimed", 1, { conditions });
      const { page } = await stage.enter(`/flag/${flag.key}`);
      await page.getByRole("button", { name: "Claimed", exact: true }).click();
      await page.getByText("Callers can claim this attribute.").waitFor();
      await page.getByRole("combobox", { name: "Attribute" }).fill("user.plan");
      await page.getByText("Callers can claim this attribute.").waitFor({ state: "hidden" });
    });

    it("orders its rules by keyboard, says so, and marks a rule that is never reached", async () => {
      const flag = await stage.createFlag();
      await addRule(flag.id, "First", 1, { conditions: { conditions: [] } });
      await addRule(flag.id, "Second", 2);
      const { page } = await stage.enter(`/flag/${flag.key}`);
      await page.getByText("Never reached: rule 1 takes all of these users.").waitFor();
      await page.getByRole("button", { name: "Second", exact: true }).focus();
      await page.keyboard.press("Alt+ArrowUp");
      await page.getByText("Second is now rule 1 of 2.").waitFor();
      await page.getByText("Never reached").waitFor({ state: "hidden" });
      await untilCounted(page);
      await page.keyboard.press("Control+s");
      await page.getByText("Saved to Production").waitFor();
      expect((await rulesOf(flag.id)).map(({ name }) => name)).toEqual(["Second", "First"]);
    });

    it("turns off at once, also while its draft is incomplete, and keeps the draft", async () => {
      const { key, name } = await stage.createFlag();
      const { page } = await stage.enter(`/flag/${key}`);
      await page.getByRole("button", { name: "Add rule" }).click();
      await page.getByRole("switch", { name: `${name} in Production, switch` }).click();
      await page.getByRole("dialog", { name: `Turn off ${name} in Production?` }).waitFor();
      await page.getByRole("button", { name: "Turn off now" }).click();
      await page.getByText(`${name} is off in Production.`).waitFor();
      expect(await stage.valueFor(key, stage.ada.id)).toBe(false);
      await page.getByText("1 change in Production").waitFor();
    });

    it("turns off without a count, which may take as long as it likes", async () => {
      const { key, name } = await stage.createFlag();
      const { page } = await stage.enter(`/flag/${key}`);
      await page.getByText("Who gets it now").waitFor();
      await page.route("**/plans", () => undefined);
      await page.getByRole("switch", { name: `${name} in Production, switch` }).click();
      await page.getByRole("button", { name: "Turn off in Production" }).click();
      await page.getByText(`${name} is off in Production.`).waitFor();
      expect(await stage.valueFor(key, stage.ada.id)).toBe(false);
    });

    it("says why people cannot be counted, and saves nevertheless", async () => {
      const flag = await stage.createFlag({ rolloutPercentage: 0 });
      await addRule(flag.id, "Kept", 1);
      const { page } = await stage.enter(`/flag/${flag.key}`);
      await page.getByText("Who gets it now").waitFor();
      await page.route("**/plans", (route) =>
        route.fulfill({ status: 500, json: { message: "No users table." } }),
      );
      await page.getByLabel("Rollout in percent").fill("100");
      await page.getByRole("switch", { name: "Kept, switch" }).click();
      await page.getByText("People could not be counted: No users table.").first().waitFor();
      await page.getByRole("button", { name: /Save to Production/ }).click();
      await page.getByText("People were not counted.").waitFor();
      expect(await stage.valueFor(flag.key, stage.people[0].id)).toBe(true);
      expect(await rulesOf(flag.id)).toMatchObject([{ enabled: false }]);
    });

    it("keeps its draft in other tabs and environments, and marks it until it is discarded", async () => {
      const { key } = await stage.createFlag({ environments: { staging: { rolloutPercentage: 10 } } });
      const { page } = await stage.enter(`/flag/${key}`);
      await page.getByLabel("Rollout in percent").fill("40");
      await page.keyboard.press("Tab");
      await page.getByRole("radio", { name: "Staging" }).click();
      expect(await page.getByLabel("Rollout in percent").inputValue()).toBe("10");
      await page.getByLabel("Rollout in percent").fill("20");
      await page.getByRole("tab", { name: "Overrides" }).click();
      await page.getByText(/^2 changes$/).waitFor();
      await page.getByRole("link", { name: "People" }).click();
      await page.goBack();
      await page.getByRole("button", { name: "Save 2 changes" }).waitFor();
      await page.getByRole("tab", { name: "Targeting" }).click();
      await page
        .getByText("Production: 0 people · Staging: ")
        .or(page.getByText(/Production: \d+ p/))
        .first()
        .waitFor();
      await page.getByRole("button", { name: "Discard" }).click();
      await expect.poll(() => page.getByLabel("Rollout in percent").inputValue()).toBe("10");
      expect(await page.getByRole("button", { name: /^Save/ }).count()).toBe(0);
    });

    it("takes an environment back to the value of the flag", async () => {
      const { key } = await stage.createFlag({
        rolloutPercentage: 26,
        environments: { production: { rolloutPercentage: 25 } },
      });
      const { page } = await stage.enter(`/flag/${key}`);
      await page.getByRole("button", { name: "Use the flag’s 26%" }).click();
      await expect.poll(() => page.getByLabel("Rollout in percent").inputValue()).toBe("26");
      await untilCounted(page);
      await page.getByRole("button", { name: /Save to Production/ }).click();
      await page.getByText("Saved to Production").waitFor();
      const flag = await stage.app.auth.api.getFeatureFlag({ params: { id: `key:${key}` } });
      expect(flag.environments?.["production"]?.rolloutPercentage).toBeUndefined();
    });

    it("promotes an environment as a draft of another one", async () => {
      const flag = await stage.createFlag({
        rolloutPercentage: 0,
        environments: { staging: { rolloutPercentage: 100 } },
      });
      await addRule(flag.id, "Only in staging", 1, { environments: ["staging"] });
      const { page } = await stage.enter(`/flag/${flag.key}?tab=environments`);
      await choose(page, "Promote Staging", "Promote to Production");
      await page.getByText("2 changes in Production").waitFor();
      expect(await page.getByLabel("Rollout in percent").inputValue()).toBe("100");
      await untilCounted(page, /6 people go from/);
      await page.getByRole("button", { name: /Save to Production/ }).click();
      await page.getByText("6 people moved.").waitFor();
      expect(await rulesOf(flag.id)).toMatchObject([{ environments: ["staging", "production"] }]);
    });

    it("shows two environments on a phone, and another one in the place of either", async () => {
      const flag = await stage.createFlag({
        rolloutPercentage: 0,
        environments: {
          beta: { rolloutPercentage: 5 },
          production: { rolloutPercentage: 25 },
          staging: { rolloutPercentage: 100 },
        },
      });
      const { page } = await stage.enter(`/flag/${flag.key}?tab=environments`, { width: 390 });
      const rollouts = () =>
        page
          .getByRole("row", { name: /^Rollout/ })
          .getByRole("cell")
          .allInnerTexts();
      const shows = (...expected: number[]) =>
        expect.poll(async () => (await rollouts()).map(Number.parseFloat)).toEqual(expected);
      await page.getByLabel("Environment 1").selectOption("Beta");
      await page.getByLabel("Environment 2").selectOption("Staging");
      await shows(5, 100);
      await page.getByLabel("Environment 2").selectOption("Production");
      await shows(5, 25);
      await page.getByLabel("Environment 1").selectOption("Production");
      await shows(25, 5);
    });

    it("marks the screen of the navigation that it belongs to", async () => {
      const { key } = await stage.createFlag();
      const { page, open } = await stage.enter(`/flag/${key}`);
      const current = page.getByRole("navigation", { name: "Screens" }).locator("[aria-current]");
      await expect.poll(() => current.allInnerTexts()).toEqual(["Flags"]);
      await open("/audit");
      await expect.poll(() => current.allInnerTexts()).toEqual(["History"]);
    });

    it("follows one person through its steps", async () => {
      const flag = await stage.createFlag({ rolloutPercentage: 0 });
      await addRule(flag.id, "Paying", 1);
      const { page } = await stage.enter(`/flag/${flag.key}`);
      await page.getByText("Who gets it now").waitFor();
      await page.getByRole("heading", { name: "See as" }).waitFor();
      await page.getByRole("radio", { name: "Production" }).focus();
      await page.keyboard.press("s");
      await page.keyboard.type("Bob");
      await page.getByRole("option", { name: /Bob Stone/ }).waitFor();
      await page.keyboard.press("Enter");
      await page.getByText('is "free", needs "pro"').waitFor();
      await page.locator(".path-decided").getByText("Everyone else").waitFor();
    });

    it("shows all of it to a reader, and no control that changes it", async () => {
      const flag = await stage.createFlag();
      await addRule(flag.id, "Paying", 1);
      const { page } = await stage.enter(`/flag/${flag.key}`, { account: stage.eve });
      await page.getByText("user.plan").waitFor();
      for (const name of ["Add rule", "Split into variants", "Change", "Actions for Paying"])
        expect(await page.getByRole("button", { name }).count()).toBe(0);
      expect(await page.getByRole("switch", { name: "Paying, switch" }).isDisabled()).toBe(true);
      expect(await page.getByLabel("Rollout in percent").isDisabled()).toBe(true);
    });

    it("has a value of its own for one person until the override is removed, each with what it changes", async () => {
      const { key } = await stage.createFlag({ rolloutPercentage: 0 });
      const { page } = await stage.enter(`/flag/${key}?tab=overrides`);
      await page.getByRole("button", { name: "Add override" }).click();
      await page.getByRole("combobox", { name: "Person" }).fill("Bob");
      await page.getByRole("option", { name: /Bob Stone/ }).waitFor();
      await page.keyboard.press("Enter");
      const dialog = page.getByRole("dialog");
      await dialog.getByText("1 person").waitFor();
      await dialog.getByRole("button", { name: "Add override" }).click();
      await page.getByText("The override was added.").waitFor();
      const bob = stage.people[0].id;
      expect(await stage.valueFor(key, bob)).toBe(true);
      await page.getByRole("button", { name: "Remove the override" }).click();
      await dialog.getByText("1 person").waitFor();
      await dialog.getByRole("button", { name: "Remove the override" }).click();
      await page.getByText("The override was removed.").waitFor();
      expect(await stage.valueFor(key, bob)).toBe(false);
    });
  });
}

/** Until the bar shows a count that is not on its way. */
export async function untilCounted(
  page: Page,
  text: RegExp = /move|go from|goes from|Nobody|: [\d,]+ (?:people|person)/,
): Promise<void> {
  const bar = page.getByRole("region", { name: "Unsaved changes" });
  await bar.getByText(text).filter({ visible: true }).first().waitFor();
  await page.waitForFunction(() => document.querySelector(".counting") === null);
}

export async function choose(page: Page, menu: string, item: string): Promise<void> {
  await page.getByRole("button", { name: menu, exact: true }).click();
  await page.getByRole("menuitem", { name: item }).click();
}
