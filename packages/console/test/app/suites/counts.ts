/** Checks that no screen makes a change before it has shown whom the change moves, and how many presses changes need. */
import fc from "fast-check";
import type { Page, Route } from "playwright-core";
import { describe, expect, it } from "vitest";
import type { Stage } from "../stage.ts";
import type { Visitor } from "../visitor.ts";
import { choose, untilCounted } from "./flag.ts";

const PRO = { conditions: [{ attribute: "user.plan", operator: "equals", value: "pro" }] } as const;
const RUNS = 24;

export function checkCounts(stage: Stage): void {
  describe("whom a change moves", () => {
    it("is on the screen before any screen makes the change, whatever is done and however fast", async () => {
      const { api } = stage.app.auth;
      const flag = await stage.createFlag({
        rolloutPercentage: 50,
        environments: { staging: { rolloutPercentage: 100 } },
      });
      await api.createFeatureFlagSegment({ body: { key: "payers", name: "Payers", conditions: PRO } });
      const rule = { flagId: flag.id, priority: 1, name: "In a segment", value: true };
      await api.createFeatureFlagRule({
        body: { ...rule, conditions: { conditions: [{ segment: "payers" }] } },
      });
      const visitor = await stage.enter(`/flag/${flag.key}`);
      const { page } = visitor;
      const writes = await watchWrites(page);
      const actions = actionsOf(visitor, flag);
      const steps = fc.sample(fc.tuple(fc.constantFrom(...actions.keys()), fc.boolean()), RUNS);
      for (const [name, isFast] of steps) {
        const [path, edit, finish] = actions.get(name) ?? [];
        await visitor.open(path ?? "/");
        await page.waitForFunction(() => document.querySelector(".skeleton, .counting") === null);
        const before = writes.made.length;
        await edit?.();
        const saved = finish === undefined ? save(page, isFast) : finish();
        await saved.catch((error: Error) => {
          throw new Error(`${name}: ${error.message}`, { cause: error });
        });
        await expect
          .poll(() => writes.made.length, { message: name, timeout: 15_000 })
          .toBeGreaterThan(before);
        await page.waitForLoadState("networkidle");
      }
      expect(writes.unshown).toEqual([]);
    }, 240_000);
  });

  describe("presses", () => {
    it("are at most 3 to create a flag, 2 to switch it, 3 to roll it out, 5 for a rule, 3 to explain, 2 to revert", async () => {
      const { page, open } = await stage.enter("/");
      const presses = new Presses(page);
      await presses.press("button", "New flag");
      await presses.type("Name", "Few presses");
      await presses.press("button", "Create flag");
      await page.getByRole("heading", { name: "Few presses", level: 1 }).waitFor();
      expect(presses.taken()).toBeLessThanOrEqual(3);
      await presses.press("switch", "Few presses in Production, switch");
      await page.getByText("No value changes.").waitFor();
      await presses.press("button", "Turn on in Production");
      await page.getByText("Few presses is on in Production.").waitFor();
      expect(presses.taken()).toBeLessThanOrEqual(2);
      await page.getByText("Who gets it now").waitFor();
      await presses.type("Rollout in percent", "40");
      await untilCounted(page);
      await presses.press("button", /^Save to Production/);
      await page.getByText("Saved to Production").waitFor();
      expect(presses.taken()).toBeLessThanOrEqual(3);
      await presses.press("button", "Add rule");
      await presses.type("Attribute", "user.plan");
      await presses.type("Value", "pro");
      await untilCounted(page);
      await presses.press("button", /^Save to Production/);
      await page.getByText("Saved to Production").waitFor();
      expect(presses.taken()).toBeLessThanOrEqual(5);
      await presses.type("Person", "Bob");
      await presses.press("option", /Bob Stone/);
      await page.locator(".path-decided").waitFor();
      expect(presses.taken()).toBeLessThanOrEqual(3);
      await open("/flag/few-presses?tab=history");
      await presses.press("button", /^Revert: /);
      await presses.press("button", "Revert");
      await page.getByText("The change was reverted.").waitFor();
      expect(presses.taken()).toBeLessThanOrEqual(2);
    });
  });
}

class Presses {
  readonly #page: Page;
  #count = 0;

  constructor(page: Page) {
    this.#page = page;
  }

  async press(
    role: "button" | "switch" | "option" | "menuitem",
    name: string | RegExp,
    place = 0,
  ): Promise<void> {
    const isExact = typeof name === "string" && { exact: true };
    await this.#page
      .getByRole(role, { name, ...isExact })
      .nth(place)
      .click();
    this.#count += 1;
  }

  /** One press into the field. */
  async type(label: string, text: string): Promise<void> {
    await this.#page.getByLabel(label, { exact: true }).and(this.#page.locator("input")).fill(text);
    this.#count += 1;
  }

  taken(): number {
    const count = this.#count;
    this.#count = 0;
    return count;
  }
}

interface Writes {
  readonly made: string[];
  /** Those that were made although the screen said nothing of them. */
  readonly unshown: string[];
}

/** Holds each write until the text of the page was read. */
async function watchWrites(page: Page): Promise<Writes> {
  const writes: Writes = { made: [], unshown: [] };
  const moved = new Map<string, number>();
  const isShown = async (path: string, body: unknown): Promise<boolean> => {
    const text = (await page.locator("body").allInnerTexts()).join();
    const planned = moved.get(/plans\/([^/]+)\/apply$/.exec(path)?.[1] ?? "");
    if (planned === 0)
      return /Nobody moves|No value changes|: 0 people|\b0\s+of [\d,]+ people move/.test(text);
    if (planned !== undefined) return new RegExp(`\\b${planned}\\s+(?:of|people|person)`).test(text);
    if (text.includes("could not be counted")) return true;
    // Turning off never waits for a count.
    return JSON.stringify(body).includes('"enabled":false');
  };
  const hold = async (route: Route): Promise<void> => {
    const request = route.request();
    const path = new URL(request.url()).pathname;
    if (request.method() === "GET" || path.endsWith("/explain")) return route.fallback();
    if (!path.endsWith("/plans")) {
      const what = `${request.method()} ${path} ${request.postData()}`;
      if (!(await isShown(path, request.postDataJSON()))) writes.unshown.push(what);
      writes.made.push(what);
      return route.fallback();
    }
    const response = await route.fetch().catch(() => undefined);
    if (response === undefined) return route.abort().catch(() => undefined);
    const plan = await response.json();
    if (plan.id !== undefined)
      moved.set(plan.id, Math.max(0, ...plan.changes.map((change: { moved: number }) => change.moved)));
    return route.fulfill({ response }).catch(() => undefined);
  };
  await page.route("**/api/feature-flags/admin/**", hold);
  return writes;
}

/** Presses Save at once or after the count; a second time if the first press only showed the count. */
async function save(page: Page, isFast: boolean): Promise<void> {
  if (!isFast) await untilCounted(page);
  const button = page.getByRole("button", { name: /^Save (?:to|\d)/ });
  await button.click();
  const again = page.getByText("This is the count now. Save again to use it.");
  const done = page.getByText(/^Saved/);
  await again.or(done).first().waitFor();
  if (await again.isVisible()) await button.click();
  await done.first().waitFor();
}

/** A path, an edit, and how it is saved if not by the bar. */
type Action = readonly [path: string, edit: () => Promise<unknown>, finish?: () => Promise<unknown>];

function actionsOf({ page }: Visitor, flag: { key: string; name: string }): ReadonlyMap<string, Action> {
  const path = `/flag/${flag.key}`;
  let turn = 0;
  const next = (): number => {
    turn += 7;
    return (turn * 13) % 100;
  };
  const confirm = (name: string | RegExp) => async () => {
    const dialog = page.getByRole("dialog");
    await dialog
      .getByText(/people|person|No value changes/)
      .first()
      .waitFor();
    await dialog.getByRole("button", { name }).click();
    const again = dialog.getByText("This is the count now. Save again to use it.");
    const isGone = dialog.waitFor({ state: "hidden" });
    await Promise.race([isGone, again.waitFor().catch(() => undefined)]);
    if (await again.isVisible()) await dialog.getByRole("button", { name }).click();
    await isGone;
  };
  const rollout = () => page.getByLabel("Rollout in percent").fill(String(next()));
  const first = page.locator("[data-rule]").first();
  return new Map<string, Action>([
    ["rollout", [path, rollout]],
    ["rollout of all environments", [`${path}?environment=*`, rollout]],
    ["switch of a rule", [path, () => first.getByRole("switch").click()]],
    [
      "new rule",
      [
        path,
        async () => {
          await page.getByRole("button", { name: "Add rule" }).click();
          await page.getByRole("combobox", { name: "Attribute" }).fill("user.plan");
          await page
            .getByRole("combobox", { name: "Value", exact: true })
            .fill(next() % 2 === 0 ? "pro" : "free");
        },
      ],
    ],
    ["bucketing", [`${path}?tab=settings`, () => page.getByLabel("Description").fill(`Number ${next()}`)]],
    [
      "promotion",
      [
        `${path}?tab=environments`,
        async () => {
          await choose(page, "Promote Production", "Promote to Staging");
          await rollout();
        },
      ],
    ],
    [
      "switch",
      [path, () => page.getByRole("switch", { name: / in Production, switch$/ }).click(), confirm(/^Turn o/)],
    ],
    [
      "switch of the list",
      [
        `/?q=${flag.key}`,
        () => page.getByRole("switch", { name: new RegExp(`^${flag.name} in`) }).click(),
        confirm(/^Turn o/),
      ],
    ],
    [
      "override",
      [
        `${path}?tab=overrides`,
        async () => {
          const remove = page.getByRole("button", { name: "Remove the override" });
          if ((await remove.count()) > 0) return remove.first().click();
          await page.getByRole("button", { name: "Add override" }).click();
          await page.getByRole("combobox", { name: "Person" }).fill("Bob");
          await page.getByRole("option", { name: /Bob Stone/ }).click();
        },
        confirm(/^(?:Add|Remove the) override$/),
      ],
    ],
    [
      "segment",
      [
        "/segments",
        async () => {
          await page.getByRole("button", { name: /Payers/ }).click();
          await page.getByRole("menuitem", { name: "Edit" }).click();
          const value = page.getByRole("dialog").getByRole("combobox", { name: "Value", exact: true });
          await value.fill((await value.inputValue()) === "pro" ? "free" : "pro");
        },
        confirm("Save segment"),
      ],
    ],
    [
      "revert",
      [
        `${path}?tab=history`,
        async () => {
          await page
            .getByRole("button", { name: /^Revert: / })
            .first()
            .click();
        },
        confirm("Revert"),
      ],
    ],
  ]);
}
