import { launchChromium } from "@halyard/services";
import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { type Account, type Application, removeBuild, startApplication } from "./application.ts";
import { signIn, type Visitor, visit } from "./visitor.ts";

let app: Application;
let browser: Browser;
let ada: Account;
let eve: Account;
let people: readonly Account[];
const visitors: Visitor[] = [];

beforeAll(async () => {
  [app, browser] = await Promise.all([startApplication(), launchChromium()]);
  ada = await app.account("Ada Lovelace", { role: "admin", plan: "pro" });
  eve = await app.account("Eve Reader", { role: "reader" });
  people = await Promise.all(["Bob Stone", "Cleo Park"].map((name) => app.account(name, { plan: "free" })));
});

afterEach(async () => {
  const left = visitors.splice(0);
  for (const { problems } of left) expect(problems).toEqual([]);
  await Promise.all(left.map((visitor) => visitor.leave()));
});

afterAll(async () => {
  await browser.close();
  await app.close();
  await removeBuild();
});

async function enter(account: Account = ada): Promise<Visitor> {
  const visitor = await visit(browser, app, account);
  visitors.push(visitor);
  return visitor;
}

let flagCount = 0;
async function createFlag(fields: object = {}): Promise<{ id: string; key: string; name: string }> {
  flagCount += 1;
  return app.auth.api.createFeatureFlag({
    body: {
      key: `flag-${flagCount}`,
      name: `Feature number ${flagCount}`,
      type: "boolean",
      offValue: false,
      rolloutPercentage: 100,
      enabled: true,
      ...fields,
    } as never,
  });
}

async function valueFor(flagKey: string, userId: string): Promise<unknown> {
  return (await app.auth.api.evaluateFeatureFlag({ body: { flagKey, context: { userId } } })).value;
}

describe("signing in", () => {
  it("shows the form to visitors, refuses a wrong password, and leads to the flags", async () => {
    const visitor = await visit(browser, app);
    visitors.push(visitor);
    const { page } = visitor;
    await page.getByLabel("Email").fill(ada.email);
    await page.getByLabel("Password").fill("wrong password");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").waitFor();
    expect(await visitor.findViolations()).toEqual([]);
    await signIn(page, ada);
  });

  it("asks again over the screen when the session has ended, and keeps what was typed", async () => {
    const { page, context } = await enter();
    const { key, name } = await createFlag();
    await page.goto(`${app.url}/flag/${key}?tab=settings`);
    await page.getByLabel("Name").fill(`${name}, edited`);
    await context.clearCookies();
    await page.getByRole("button", { name: "Review and save" }).click();
    const dialog = page.getByRole("dialog", { name: "Your session has ended" });
    await dialog.getByLabel("Password").fill("correct horse battery");
    await dialog.getByRole("button", { name: "Sign in" }).click();
    await dialog.waitFor({ state: "hidden" });
    expect(await page.getByLabel("Name").inputValue()).toBe(`${name}, edited`);
  });

  it("shows a reader the flags without the controls that change them", async () => {
    const { key } = await createFlag();
    const { page } = await enter(eve);
    expect(await page.getByRole("button", { name: "New flag" }).count()).toBe(0);
    expect(await page.getByRole("switch").first().isDisabled()).toBe(true);
    await page.goto(`${app.url}/flag/${key}?tab=settings`);
    await page.getByLabel("Visibility").waitFor();
    expect(await page.getByRole("button", { name: "Delete flag" }).count()).toBe(0);
    expect(await page.getByRole("link", { name: "Audit" }).count()).toBe(0);
    await page.goto(`${app.url}/people`);
    await page.getByText("You may not see this").waitFor();
  });
});

describe("the list of flags", () => {
  it("turns a flag off after showing whom it concerns, and back on by Undo", async () => {
    const { key, name } = await createFlag();
    const { page } = await enter();
    await page.getByLabel("Search flags").fill(key);
    await page.getByRole("switch", { name: `${name}, switch` }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText(/^4 people$/).waitFor();
    await dialog.getByRole("button", { name: "Turn off" }).click();
    await page.getByText(`${name} is off.`).waitFor();
    expect(await valueFor(key, ada.id)).toBe(false);
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByText(`${name} is as it was.`).waitFor();
    expect(await valueFor(key, ada.id)).toBe(true);
  });

  it("keeps search and filters in the address", async () => {
    const { key } = await createFlag({ enabled: false });
    const { page } = await enter();
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
    const { page } = await enter();
    await page.keyboard.press("n");
    await page.getByRole("dialog", { name: "New flag" }).waitFor();
    await page.keyboard.type("Keyboard first");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Keyboard first", level: 1 }).waitFor();
    const { flags } = await app.auth.api.listFeatureFlags({ query: { prefix: "keyboard-first" } });
    expect(flags).toMatchObject([{ enabled: false, offValue: false, type: "boolean" }]);
  });

  it("finds a flag with the command palette", async () => {
    const { key, name } = await createFlag({ name: "Found by palette" });
    const { page } = await enter();
    await page.keyboard.press("Control+k");
    await page.getByPlaceholder("A flag, a person, a screen or an action").fill(key);
    await page.getByRole("option", { name: new RegExp(name) }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name, level: 1 }).waitFor();
  });

  it("shows the change of another person without a reload", async () => {
    const { id, name } = await createFlag();
    const { page } = await enter();
    const toggle = page.getByRole("switch", { name: `${name}, switch` });
    expect(await toggle.isChecked()).toBe(true);
    await app.auth.api.updateFeatureFlag({ body: { id, enabled: false } });
    await expect.poll(() => toggle.isChecked(), { timeout: 15_000 }).toBe(false);
  });

  it("says that the server does not answer, and recovers", async () => {
    const { page } = await enter();
    onTestFinished(() => app.setLost(false));
    app.setLost(true);
    await page.getByText("The server does not answer. What you see may be out of date.").waitFor();
    app.setLost(false);
    await page.getByRole("button", { name: "Try again" }).first().click();
    await page
      .getByText("The server does not answer. What you see may be out of date.")
      .waitFor({ state: "hidden" });
  });
});

describe("a flag", () => {
  it("rolls out to a share of users after a review of the change", async () => {
    const { key } = await createFlag({ rolloutPercentage: 0 });
    const { page, open } = await enter();
    await open(`/flag/${key}`);
    await page.getByRole("button", { name: "100 %" }).click();
    await page.getByRole("button", { name: "Review and save" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText(/^4 people$/).waitFor();
    await dialog.getByRole("button", { name: "Save" }).click();
    await page.getByText("was saved").waitFor();
    expect(await valueFor(key, ada.id)).toBe(true);
  });

  it("splits into variants whose weights always sum to 100", async () => {
    const { key } = await createFlag({ type: "string", offValue: "off", rolloutPercentage: undefined });
    const { page, open } = await enter();
    await open(`/flag/${key}`);
    await page.getByRole("button", { name: "Split into variants" }).click();
    await page.getByRole("button", { name: "Add variant" }).click();
    await page.getByLabel("Weight of variant-3 in percent").fill("20");
    await page.getByRole("button", { name: "Review and save" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
    await page.getByText("was saved").waitFor();
    const flag = await app.auth.api.getFeatureFlag({ params: { id: `key:${key}` } });
    expect(flag.variants?.map(({ weight }) => weight)).toEqual([40, 40, 20]);
  });

  it("shows both changes when another person changed it in the meantime, and lets the person decide", async () => {
    const { id, key } = await createFlag({ rolloutPercentage: 10 });
    const { page, open } = await enter();
    await open(`/flag/${key}`);
    await page.getByLabel("Rollout in percent").fill("50");
    await page.getByRole("button", { name: "Review and save" }).click();
    const review = page.getByRole("dialog");
    await review
      .getByText(/person|people/)
      .first()
      .waitFor();
    await app.auth.api.updateFeatureFlag({ body: { id, rolloutPercentage: 20 } });
    await review.getByRole("button", { name: "Save" }).click();
    const conflict = page.getByRole("dialog", { name: "Another person changed this flag" });
    await conflict.getByRole("button", { name: "Apply mine" }).click();
    await page.getByText("was saved").waitFor();
    const flag = await app.auth.api.getFeatureFlag({ params: { id } });
    expect(flag.rolloutPercentage).toBe(50);
  });

  it("gets a rule that reads as a sentence and counts the people who match", async () => {
    const { key } = await createFlag({ rolloutPercentage: 0 });
    const { page, open } = await enter();
    await open(`/flag/${key}`);
    await page.getByRole("button", { name: "Add rule" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Attribute").fill("user.plan");
    await dialog.getByLabel("Comparison").selectOption("equals");
    await dialog.getByLabel("Value", { exact: true }).first().fill("pro");
    await dialog.getByText('user.plan is "pro"').waitFor();
    await dialog.getByText("1 of 4 people match.").waitFor();
    await dialog.getByRole("button", { name: "Save rule" }).click();
    await page.getByText("The rule was saved.").waitFor();
    expect([await valueFor(key, ada.id), await valueFor(key, people[0]?.id ?? "")]).toEqual([true, false]);
  });

  it("orders its rules by keyboard, and marks a rule that is never reached", async () => {
    const flag = await createFlag();
    const add = (name: string, priority: number, conditions: object) =>
      app.auth.api.createFeatureFlagRule({
        body: { flagId: flag.id, name, priority, conditions: conditions as never, value: true },
      });
    await add("First", 1, { conditions: [] });
    await add("Second", 2, { conditions: [{ attribute: "user.plan", operator: "equals", value: "pro" }] });
    const { page, open } = await enter();
    await open(`/flag/${flag.key}`);
    await page.getByText("Never reached: rule 1 takes all of these users.").waitFor();
    await page.getByRole("button", { name: "Move Second up" }).focus();
    await page.keyboard.press("Enter");
    await page.getByText("Never reached").waitFor({ state: "hidden" });
    const names = async () =>
      (await app.auth.api.listFeatureFlagRules({ params: { flagId: flag.id } })).rules.map(
        ({ name }) => name,
      );
    await expect.poll(names).toEqual(["Second", "First"]);
  });

  it("has a value of its own for one person until the override is removed", async () => {
    const { key } = await createFlag({ rolloutPercentage: 0 });
    const { page, open } = await enter();
    await open(`/flag/${key}?tab=overrides`);
    await page.getByRole("button", { name: "Add override" }).click();
    await page.getByRole("combobox", { name: "Person" }).fill("Bob");
    await page.getByRole("option", { name: /Bob Stone/ }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").getByRole("button", { name: "Add override" }).click();
    await page.getByText("The override was added.").waitFor();
    const bob = people[0]?.id ?? "";
    expect(await valueFor(key, bob)).toBe(true);
    await page.getByRole("button", { name: "Remove the override" }).click();
    await page.getByText("The override was removed.").waitFor();
    expect(await valueFor(key, bob)).toBe(false);
  });
});

describe("other screens", () => {
  it("Explain shows each step for a person, and what would change it", async () => {
    const flag = await createFlag({ rolloutPercentage: 0 });
    await app.auth.api.createFeatureFlagRule({
      body: {
        flagId: flag.id,
        name: "Paying",
        priority: 1,
        conditions: { conditions: [{ attribute: "user.plan", operator: "equals", value: "pro" }] },
        value: true,
      },
    });
    const { page, open } = await enter();
    await open(`/explain?flag=${flag.key}&user=${people[0]?.id}`);
    await page.getByText('Paying matches if user.plan is "pro" (now "free").').waitFor();
    await page.getByText("Raise the rollout to at least").waitFor();
    await open(`/explain?flag=${flag.key}&user=${ada.id}`);
    await page.getByText("matches", { exact: true }).waitFor();
  });

  it("People shows every flag of a person, with overrides in place", async () => {
    const { key, name } = await createFlag({ rolloutPercentage: 0 });
    const { page, open } = await enter();
    await open("/people");
    await page.getByRole("link", { name: /Cleo Park/ }).click();
    await page.getByRole("heading", { name: "Cleo Park" }).waitFor();
    await page.getByRole("button", { name: `Override ${name}`, exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Add override" }).click();
    await page.getByRole("button", { name: `Remove the override of ${name}`, exact: true }).waitFor();
    expect(await valueFor(key, people[1]?.id ?? "")).toBe(true);
  });

  it("History shows the difference of a change, and reverts it", async () => {
    const { id, key } = await createFlag({ rolloutPercentage: 10 });
    await app.auth.api.updateFeatureFlag({ body: { id, rolloutPercentage: 90 } });
    const { page, open } = await enter();
    await open(`/flag/${key}?tab=history`);
    await page.getByRole("button", { name: /Revert: changed the rollout/ }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Revert" }).click();
    await page.getByText("The change was reverted.").waitFor();
    const flag = await app.auth.api.getFeatureFlag({ params: { id } });
    expect(flag.rolloutPercentage).toBe(10);
  });

  it("Audit verifies the chain and exports the log", async () => {
    await createFlag();
    const { page, open } = await enter();
    await open("/audit");
    await page.getByRole("button", { name: "Verify" }).click();
    await page.getByText("The log is complete.").waitFor();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Export" }).click(),
    ]);
    expect(download.suggestedFilename()).toMatch(/^flags-audit-.*\.jsonl$/);
  });

  it("Segments are created once and used by rules by their name", async () => {
    const { key } = await createFlag();
    const { page, open } = await enter();
    await open("/segments");
    await page.getByRole("button", { name: "New segment" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("Paying customers");
    await dialog.getByLabel("Attribute").fill("user.plan");
    await dialog.getByLabel("Comparison").selectOption("equals");
    await dialog.getByLabel("Value", { exact: true }).fill("pro");
    await dialog.getByRole("button", { name: "Save segment" }).click();
    await page.getByText("The segment was saved.").waitFor();
    await open(`/flag/${key}`);
    await page.getByRole("button", { name: "Add rule" }).click();
    await page.getByRole("button", { name: "Segment", exact: true }).click();
    await page.getByText(/in the segment Paying customers/).waitFor();
  });

  it("API keys show their secret once, and stop working when they are deleted", async () => {
    const { page, open } = await enter();
    await open("/keys");
    await page.getByRole("button", { name: "New key" }).click();
    await page.getByLabel("Name").fill("Deployment");
    await page.getByRole("dialog").getByRole("button", { name: "New key" }).click();
    const secret = await page.getByLabel("Key", { exact: true }).inputValue();
    const list = () =>
      fetch(`${new URL(app.url).origin}/api/auth/feature-flags/admin/flags`, {
        headers: { "x-api-key": secret },
      });
    expect((await list()).status).toBe(200);
    await page.getByRole("button", { name: "Done" }).click();
    await page.getByRole("button", { name: "Delete Deployment" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete key" }).click();
    await page.getByText("The key was deleted.").waitFor();
    expect((await list()).status).toBe(401);
  });

  it("Activity and Health show the figures of the server", async () => {
    const { key } = await createFlag();
    for (let i = 0; i < 5; i++) await app.auth.api.evaluateFeatureFlag({ body: { flagKey: key } });
    const { page, open } = await enter();
    await open("/activity");
    await page.getByText("Evaluations by reason").waitFor();
    await open("/health");
    await page.getByText("Everything works").waitFor();
  });
});

describe("hostile texts", () => {
  it("are shown as text on every screen", async () => {
    const hostile = `<img src=x onerror="globalThis.hacked=1"><script>globalThis.hacked=1</script>`;
    const { key, id } = await createFlag({
      name: hostile,
      description: hostile,
      type: "string",
      offValue: hostile,
      defaultValue: hostile,
      rolloutPercentage: undefined,
    });
    await app.auth.api.createFeatureFlagRule({
      body: {
        flagId: id,
        name: hostile,
        priority: 1,
        conditions: { conditions: [{ attribute: "email", operator: "equals", value: hostile }] },
        value: hostile,
      },
    });
    const { page, open } = await enter();
    for (const path of [
      `/?q=${key}`,
      `/flag/${key}`,
      `/flag/${key}?tab=history`,
      "/history",
      "/audit",
      `/people/${ada.id}`,
      `/explain?flag=${key}&user=${ada.id}`,
    ]) {
      await open(path);
      await page.getByText("<img src=x").filter({ visible: true }).first().waitFor();
      expect(await page.evaluate(() => "hacked" in globalThis)).toBe(false);
    }
  });
});
