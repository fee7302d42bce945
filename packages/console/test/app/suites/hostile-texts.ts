/** Checks texts that try to run as code. */
import { describe, expect, it } from "vitest";
import type { Stage } from "../stage.ts";

export function checkHostileTexts(stage: Stage): void {
  describe("hostile texts", () => {
    it("are shown as text on every screen", async () => {
      const hostile = `<img src=x onerror="globalThis.hacked=1"><script>globalThis.hacked=1</script>`;
      const { key, id } = await stage.createFlag({
        name: hostile,
        description: hostile,
        type: "string",
        offValue: hostile,
        defaultValue: hostile,
        rolloutPercentage: undefined,
      });
      await stage.app.auth.api.createFeatureFlagRule({
        body: {
          flagId: id,
          name: hostile,
          priority: 1,
          conditions: { conditions: [{ attribute: "email", operator: "equals", value: hostile }] },
          value: hostile,
        },
      });
      const { page, open } = await stage.enter();
      for (const path of [
        `/?q=${key}`,
        `/flag/${key}`,
        `/flag/${key}?tab=history`,
        "/history",
        "/audit",
        `/people/${stage.ada.id}`,
        `/explain?flag=${key}&user=${stage.ada.id}`,
      ]) {
        await open(path);
        await page.getByText("<img src=x").filter({ visible: true }).first().waitFor();
        expect(await page.evaluate(() => "hacked" in globalThis)).toBe(false);
      }
    });
  });
}
