/** Checks what a person sees of the changes that other people make at the same time. */
import { describe, expect, it, onTestFinished } from "vitest";
import type { Stage } from "../stage.ts";
import type { Visitor } from "../visitor.ts";

export function checkChanges(stage: Stage): void {
  describe("changes of other people", () => {
    /** Turns the flag off in this person's console. */
    async function turnOff({ page }: Visitor, name: string): Promise<void> {
      await page.getByRole("switch", { name: `${name}, switch` }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Turn off" }).click();
      await page.getByText(`${name} is off.`).waitFor();
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
        const isOn = () => page.getByRole("switch", { name: `${name}, switch` }).isChecked();
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
      const state = page.getByRole("switch", { name: `${name}, switch` });
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

    it("unsaved changes do not silently replace what another person saved in the same field", async () => {
      const { id, key } = await stage.createFlag({
        environments: { production: { enabled: true }, staging: { enabled: true } },
      });
      const visitor = await stage.enter(`/flag/${key}?tab=environments`, { url: stage.app.liveUrl });
      const { page } = visitor;
      await visitor.untilWatching();
      await page.getByLabel("State").nth(1).selectOption("false");
      const readAgain = page.waitForResponse((response) => response.url().includes(`/flags/key:${key}`));
      await stage.app.auth.api.updateFeatureFlag({
        body: { id, environments: { production: { enabled: false }, staging: { enabled: true } } },
      });
      await (await readAgain).finished();
      await page.getByRole("button", { name: "Review and save" }).click();
      await page.getByRole("dialog", { name: "Another person changed this flag" }).waitFor();
      await page.getByRole("button", { name: "Keep theirs" }).click();
      const flag = await stage.app.auth.api.getFeatureFlag({ params: { id } });
      expect(flag.environments).toMatchObject({ production: { enabled: false } });
      await page.getByRole("button", { name: "Review and save" }).waitFor({ state: "hidden" });
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
