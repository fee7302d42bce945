/** Checks the console of an application whose flags belong to organizations. */
import { describe, expect, it } from "vitest";
import { startApplication } from "../application.ts";
import type { Stage } from "../stage.ts";
import { createVisits } from "../visitor.ts";

export function checkOrganizations(stage: Stage): void {
  describe("organizations", () => {
    it("the address names the organization, so that a link shows the same flags to another person", async () => {
      const app = await startApplication({ multiTenant: true });
      try {
        const ada = await app.account("Ada Lovelace", { role: "admin" });
        const ids = await Promise.all(
          ["Acme", "Globex"].map(async (name) => {
            const body = { name, slug: name.toLowerCase(), userId: ada.id };
            const { id } = await app.auth.api.createOrganization({ body });
            const flag = { key: "checkout", name: `Checkout of ${name}`, type: "boolean" } as const;
            await app.auth.api.createFeatureFlag({ body: { ...flag, organizationId: id } });
            return id;
          }),
        );
        const visit = createVisits(stage.browser, app);
        const { page, problems } = await visit({ account: ada });
        await page.getByLabel("Organization").selectOption("Globex");
        await page.getByRole("link", { name: "Checkout of Globex" }).click();
        await page.getByRole("heading", { name: "Checkout of Globex", level: 1 }).waitFor();
        expect(new URL(page.url()).searchParams.get("org")).toBe(ids[1]);
        const { pathname, search } = new URL(page.url());
        const path = pathname.slice(new URL(app.url).pathname.length) + search;
        const other = await visit({ account: ada, isAlone: true, path });
        await other.page.getByRole("heading", { name: "Checkout of Globex", level: 1 }).waitFor();
        await page.goBack();
        await page.getByRole("link", { name: "Checkout of Globex" }).waitFor();
        await page.goBack();
        expect(await page.getByRole("link", { name: "Checkout of Globex" }).count()).toBe(0);
        expect([...problems, ...other.problems]).toEqual([]);
        await Promise.all([page.close(), other.leave()]);
      } finally {
        await app.close();
      }
    });
  });
}
