/** Checks what a person sees of the changes that other people make at the same time. */
import { describe, expect, it, onTestFinished } from "vitest";
import type { Stage } from "../stage.ts";
import type { Visitor } from "../visitor.ts";
import { untilCounted } from "./flag.ts";

export function checkChanges(stage: Stage): void {
  describe("changes of other people", () => {
    /** Turns the flag off in this person's console. */
    async function turnOff({ page }: Visitor, name: string): Promise<void> {
      await page.getByRole("switch", { name: new RegExp(`^${name}.*, switch$`) }).click();
      await page
        .getByRole("dialog")
        .getByRole("button", { name: /^Turn off/ })
        .click();
      await page.getByText(`${name} is off in Production.`).waitFor();
    }

    it.each([
      ["over the socket of live flags", true],
      ["by polling", false],
    ])("two people see each other's changes in place, %s", async (_way, isLive) => {
      const url = isLive ? stage.app.liveUrl : stage.app.url;
      const [first, second] = [await stage.createFlag(), await stage.createFlag()];
      const hasClock = !isLive;
      const ada = await stage.enter("/", { url, hasClock });
      const other = await stage.enter(`/flag/${first.key}`, { url, account: stage.grace, hasClock });
      const untilOff = ({ page, untilLater }: Visitor, name: string): Promise<void> => {
        const isOn = () => page.getByRole("switch", { name: new RegExp(`^${name}.*, switch$`) }).isChecked();
        return isLive ? expect.poll(isOn, { timeout: 15_000 }).toBe(false) : untilLater(isOn, false);
      };
      if (isLive) await Promise.all([ada.untilWatching(), other.untilWatching()]);
      const requests = stage.app.liveRequests.filter(isRevision).length;
      await turnOff(ada, first.name);
      await untilOff(other, first.name);
      await other.open(`/flag/${second.key}`);
      await turnOff(other, second.name);
      await untilOff(ada, second.name);
      // With the socket, a page asks for the revision once, and then only once per minute.
      if (isLive) expect(stage.app.liveRequests.filter(isRevision).length - requests).toBeLessThanOrEqual(1);
    });

    it("a console with a socket that breaks polls until the socket is back", async () => {
      const { id, name } = await stage.createFlag();
      const visitor = await stage.enter("/", { url: stage.app.liveUrl, hasClock: true });
      const { page, untilWatching, untilLater } = visitor;
      await untilWatching();
      onTestFinished(() => stage.app.setSocketsLost(false));
      stage.app.setSocketsLost(true);
      await stage.app.auth.api.updateFeatureFlag({ body: { id, enabled: false } });
      const state = page.getByRole("switch", { name: new RegExp(`^${name}.*, switch$`) });
      await untilLater(() => state.isChecked(), false);
      stage.app.setSocketsLost(false);
      await untilWatching();
    });

    it("a flag that another person deletes is no longer shown as if it existed", async () => {
      const { id, key } = await stage.createFlag();
      const { page, untilWatching } = await stage.enter(`/flag/${key}`, { url: stage.app.liveUrl });
      await untilWatching();
      await stage.app.auth.api.deleteFeatureFlag({ params: { id } });
      await page.getByRole("link", { name: "Back to flags" }).waitFor();
      expect(await page.getByRole("switch").count()).toBe(0);
    });

    it("merge with a draft at once if they are of other fields", async () => {
      const flag = await stage.createFlag({ environments: { staging: { enabled: true } } });
      const { page, untilWatching } = await stage.enter(`/flag/${flag.key}`, { url: stage.app.liveUrl });
      await untilWatching();
      await page.getByLabel("Rollout in percent").fill("40");
      await stage.app.auth.api.updateFeatureFlag({
        body: { id: flag.id, name: "Renamed", environments: { staging: { enabled: false } } },
      });
      await page.getByRole("heading", { name: "Renamed", level: 1 }).waitFor();
      await untilCounted(page);
      await page.getByRole("button", { name: /Save to Production/ }).click();
      await page.getByText("Saved to Production").waitFor();
      const { environments } = await stage.app.auth.api.getFeatureFlag({ params: { id: flag.id } });
      expect(environments).toEqual({ production: { rolloutPercentage: 40 }, staging: { enabled: false } });
    });

    it.each([
      ["Saved", 30],
      ["Yours", 40],
    ])(
      "to the same field are shown beside the draft's, and the person chooses: %s",
      async (choice, expected) => {
        const { id, key } = await stage.createFlag({
          environments: { production: { rolloutPercentage: 25 } },
        });
        const { page, untilWatching } = await stage.enter(`/flag/${key}`, { url: stage.app.liveUrl });
        await untilWatching();
        await page.getByLabel("Rollout in percent").fill("40");
        await stage.app.auth.api.updateFeatureFlag({
          body: { id, environments: { production: { rolloutPercentage: 30 } } },
        });
        const conflict = page.getByRole("alert").filter({ hasText: "has changed the same" });
        await conflict.waitFor();
        expect(await page.getByRole("button", { name: /^Save to/ }).count()).toBe(0);
        await conflict.getByRole("button", { name: new RegExp(`^${choice}`) }).click();
        if (choice === "Yours") {
          await untilCounted(page);
          await page.getByRole("button", { name: /Save to Production/ }).click();
          await page.getByText("Saved to Production").waitFor();
        }
        await conflict.waitFor({ state: "hidden" });
        await expect.poll(() => page.getByLabel("Rollout in percent").inputValue()).toBe(String(expected));
        const { environments } = await stage.app.auth.api.getFeatureFlag({ params: { id } });
        expect(environments).toEqual({ production: { rolloutPercentage: expected } });
      },
    );

    it("between the count and the save are counted, shown and saved only by another press", async () => {
      const flag = await stage.createFlag({ rolloutPercentage: 0 });
      const { page } = await stage.enter(`/flag/${flag.key}`);
      await page.getByLabel("Rollout in percent").fill("100");
      await untilCounted(page, /6 people go from/);
      const another = await stage.app.account("Nina Newcomer", { plan: "pro" });
      try {
        await page.getByRole("button", { name: /Save to Production/ }).click();
        await page.getByText("This is the count now. Save again to use it.").waitFor();
        await page.getByText(/7 people go from/).waitFor();
        expect(await stage.valueFor(flag.key, stage.ada.id)).toBe(false);
        await page.getByRole("button", { name: /Save to Production/ }).click();
        await page.getByText("7 people moved.").waitFor();
      } finally {
        await stage.app.remove(another);
      }
    });

    it("to what a save changed refuse its Undo, and say why", async () => {
      const { id, key } = await stage.createFlag({ rolloutPercentage: 0 });
      const { page } = await stage.enter(`/flag/${key}`);
      await page.getByLabel("Rollout in percent").fill("100");
      await untilCounted(page);
      await page.getByRole("button", { name: /Save to Production/ }).click();
      await page.getByText("6 people moved.").waitFor();
      await stage.app.auth.api.updateFeatureFlag({
        body: { id, environments: { production: { rolloutPercentage: 50 } } },
      });
      await page.getByRole("button", { name: /Undo/ }).click();
      await page.getByText("This cannot be taken back").waitFor();
      const { environments } = await stage.app.auth.api.getFeatureFlag({ params: { id } });
      expect(environments).toEqual({ production: { rolloutPercentage: 50 } });
    });

    it("Undo says so when another person has changed the flag since, and changes nothing", async () => {
      const { id, name, key } = await stage.createFlag();
      const visitor = await stage.enter(`/?q=${key}&state=on`);
      await turnOff(visitor, name);
      await stage.app.auth.api.updateFeatureFlag({ body: { id, description: "Changed" } });
      await visitor.page.getByRole("button", { name: "Undo" }).click();
      await visitor.page.getByText("Undo would take their change back").waitFor();
      expect(await stage.valueFor(key, stage.ada.id)).toBe(false);
    });
  });
}

const isRevision = (path: string): boolean => path.endsWith("/revision");
