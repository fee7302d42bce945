/** Checks who gets in, and what becomes of the screens when the session or the permission ends. */
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { type Account, PASSWORD } from "../application.ts";
import type { Stage } from "../stage.ts";

const NO_PERMISSION = "You cannot see feature flags yet";

export function checkSigningIn(stage: Stage): void {
  describe("signing in", () => {
    it("shows the form to visitors, refuses a wrong password, and leads to the flags", async () => {
      const visitor = await stage.enterAnonymously();
      const { page } = visitor;
      await page.getByLabel("Email").fill(stage.ada.email);
      await page.getByLabel("Password").fill("wrong password");
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("alert").waitFor();
      expect(await visitor.findViolations()).toEqual([]);
      await signIn(page, stage.ada);
      await page.getByRole("heading", { name: "Flags", exact: true, level: 1 }).waitFor();
    });

    it("asks again over the screen when the session has ended, and keeps what was typed", async () => {
      const { key, name } = await stage.createFlag();
      const { page, context } = await stage.enter(`/flag/${key}?tab=settings`, { isAlone: true });
      await page.getByLabel("Name").fill(`${name}, edited`);
      await context.clearCookies();
      await page.getByRole("button", { name: /^Save/ }).click();
      const dialog = page.getByRole("dialog", { name: "Your session has ended" });
      await dialog.getByLabel("Password").fill("correct horse battery");
      await dialog.getByRole("button", { name: "Sign in" }).click();
      await dialog.waitFor({ state: "hidden" });
      expect(await page.getByLabel("Name").inputValue()).toBe(`${name}, edited`);
    });

    it("shows a reader the flags without the controls that change them", async () => {
      const { key } = await stage.createFlag();
      const { page } = await stage.enter("/", { account: stage.eve });
      expect(await page.getByRole("button", { name: "New flag" }).count()).toBe(0);
      expect(await page.getByRole("switch").first().isDisabled()).toBe(true);
      await page.goto(`${stage.app.url}/flag/${key}?tab=settings`);
      await page.getByLabel("Visibility").waitFor();
      expect(await page.getByRole("button", { name: "Delete flag" }).count()).toBe(0);
      expect(await page.getByRole("link", { name: "Audit" }).count()).toBe(0);
      await page.keyboard.press("Control+k");
      await page.getByRole("option", { name: "Health" }).waitFor();
      for (const name of ["Audit", "History", "API keys"])
        expect(await page.getByRole("option", { name }).count()).toBe(0);
      await page.keyboard.press("Escape");
      await page.goto(`${stage.app.url}/people`);
      await page.getByText("You may not see this").waitFor();
    });

    it("shows a person without permission one page at every address, with a request to copy", async () => {
      const { page, context, findViolations, open } = await stage.enter("/", {
        account: stage.people[0],
        isAlone: true,
      });
      await context.grantPermissions(["clipboard-read", "clipboard-write"]);
      for (const path of ["/", "/flag/checkout", "/audit", "/nothing-here"]) {
        await open(path);
        await page.getByRole("heading", { name: NO_PERMISSION }).waitFor();
        expect(await page.getByRole("navigation").count()).toBe(0);
      }
      expect(await findViolations()).toEqual([]);
      await page.getByRole("button", { name: "Copy request" }).click();
      await page.getByText("Copied.").waitFor();
      const copied = await page.evaluate(() => navigator.clipboard.readText());
      expect(copied).toContain(stage.people[0].email);
      expect(copied).toContain('featureFlag: ["read"]');
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.getByLabel("Password").waitFor();
    });

    it("removes what a person may no longer see, without a reload", async () => {
      const { name } = await stage.createFlag();
      const leaving = await stage.app.account("Leaving Reader", { role: "reader" });
      try {
        const { page, untilLater } = await stage.enter("/", { account: leaving, hasClock: true });
        await page.getByRole("link", { name, exact: true }).waitFor();
        await stage.app.setRole(leaving, "user");
        await stage.createFlag();
        await untilLater(() => page.getByRole("heading", { name: NO_PERMISSION }).isVisible(), true);
        expect(await page.getByRole("link", { name, exact: true }).count()).toBe(0);
      } finally {
        await stage.app.remove(leaving);
      }
    });

    it("shows nothing of the first person after another one signs in over the screen", async () => {
      const { key, name } = await stage.createFlag();
      const { page, context } = await stage.enter(`/flag/${key}?tab=settings`, { isAlone: true });
      await page.getByLabel("Name").fill(`${name}, edited`);
      await context.clearCookies();
      await page.getByRole("button", { name: /^Save/ }).click();
      const [bob] = stage.people;
      await signIn(page.getByRole("dialog", { name: "Your session has ended" }), bob);
      await page.getByRole("heading", { name: NO_PERMISSION }).waitFor();
      expect(await page.getByText(name).count()).toBe(0);
    });
  });
}

async function signIn(place: Pick<Page, "getByLabel" | "getByRole">, { email }: Account): Promise<void> {
  await place.getByLabel("Email").fill(email);
  await place.getByLabel("Password").fill(PASSWORD);
  await place.getByRole("button", { name: "Sign in" }).click();
}
