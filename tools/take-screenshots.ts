/**
 * `npm run docs:screenshots`: starts the console with example data, and the chat with its inspector, and takes every
 * screen of the console in light, in dark and on a phone, and the pictures of the pages. With a folder as argument, the
 * pictures go there instead; names of screens behind it choose some.
 */

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { launchChromium } from "@halyard/services";
import { startApp } from "../examples/console/app.ts";
import { openDatabase } from "../examples/console/database.ts";
import { PASSWORD } from "../examples/console/seed.ts";
import { inspectorFile, takeInspectorPictures } from "./inspector-pictures.ts";
import { root } from "./repository.ts";

type Page = Awaited<ReturnType<Awaited<ReturnType<typeof launchChromium>>["newPage"]>>;

interface Look {
  readonly name: string;
  readonly theme: "light" | "dark";
  readonly width: number;
  readonly height: number;
}

const LIGHT: Look = { name: "light", theme: "light", width: 1360, height: 900 };
const LOOKS: readonly Look[] = [
  LIGHT,
  { name: "dark", theme: "dark", width: 1360, height: 900 },
  { name: "phone", theme: "light", width: 390, height: 844 },
];

interface Screen {
  readonly name: string;
  readonly path: string;
  /** The accessible name of a control that is pressed before the picture is taken. */
  readonly press?: string;
  /** Typed into the field of this label. */
  readonly type?: readonly [label: string, text: string];
  /** Searched for in the command palette before the picture is taken. */
  readonly search?: string;
}

const SCREENS: readonly Screen[] = [
  { name: "flags", path: "/" },
  { name: "switch", path: "/?q=new-checkout", press: "New checkout in Production, switch" },
  { name: "new-flag", path: "/?create=true" },
  { name: "flag", path: "/flag/new-checkout" },
  { name: "draft", path: "/flag/new-checkout", type: ["Rollout in percent", "40"] },
  { name: "variants", path: "/flag/search-ranking" },
  { name: "rule", path: "/flag/new-checkout", press: "Paying customers in the Nordics" },
  { name: "environments", path: "/flag/new-checkout?tab=environments" },
  { name: "overrides", path: "/flag/new-checkout?tab=overrides" },
  { name: "flag-activity", path: "/flag/search-ranking?tab=activity" },
  { name: "flag-history", path: "/flag/new-checkout?tab=history" },
  { name: "settings", path: "/flag/new-checkout?tab=settings" },
  { name: "segments", path: "/segments" },
  { name: "people", path: "/people" },
  { name: "explain", path: "/explain?flag=new-checkout&user=FIRST" },
  { name: "person", path: "/people/FIRST" },
  { name: "activity", path: "/activity?days=30" },
  { name: "history", path: "/history" },
  { name: "hashes", path: "/audit" },
  { name: "keys", path: "/keys" },
  { name: "new-key", path: "/keys", press: "New key" },
  { name: "health", path: "/health" },
  { name: "palette", path: "/", search: "gift" },
  { name: "not-found", path: "/nothing-here" },
];
/** Pictures that pages of the documentation show. The others are in a folder of their own. */
const SHOWN = ["flags", "switch", "draft", "explain"];
const IMAGES = join(root, "docs/images");
const EVERY_SCREEN = join(IMAGES, "console");
const WEBP_QUALITY = 90;

const [folder, ...chosen] = process.argv.slice(2);
const app = await startApp(openDatabase(undefined), 0);
const browser = await launchChromium();
try {
  mkdirSync(folder ?? EVERY_SCREEN, { recursive: true });
  for (const look of LOOKS) await takeAll(look);
  const looks = folder === undefined ? [LIGHT] : LOOKS;
  if (chosen.length === 0)
    await takeInspectorPictures(browser, looks, (look) => inspectorFile(folder, IMAGES, look));
} finally {
  await browser.close();
  await app.stop();
}

async function takeAll({ name: lookName, theme, width, height }: Look): Promise<void> {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: theme,
    reducedMotion: "reduce",
    locale: "en-GB",
  });
  const page = await context.newPage();
  page.on("pageerror", ({ message }) => console.error(message));
  page.on("console", (message) => message.type() === "error" && console.error(message.text()));
  await page.goto(app.consoleUrl);
  await page.getByLabel("Email").waitFor();
  await save(page, "sign-in", lookName);
  await signIn(page, "ada@halyard.example");
  await page.getByRole("heading", { name: "Flags", exact: true, level: 1 }).waitFor();
  // On the free plan, so that the rollout decides.
  await page.goto(`${app.consoleUrl}/people?q=chloe.arden.2@`);
  const link = (await page.getByRole("link", { name: "Chloe" }).first().getAttribute("href")) ?? "";
  // Behind the id stands the organization.
  const { pathname } = new URL(link, app.consoleUrl);
  const first = pathname.slice(pathname.lastIndexOf("/") + 1);
  for (const { name, path, press, type, search } of SCREENS) {
    if (chosen.length > 0 && !chosen.includes(name)) continue;
    await page.goto(app.consoleUrl + path.replace("FIRST", first));
    await page.locator("h1").first().waitFor();
    if (press !== undefined)
      await page
        .getByRole(name === "switch" ? "switch" : "button", { name: press, exact: true })
        .first()
        .click();
    if (type !== undefined) await page.getByLabel(type[0]).fill(type[1]);
    if (search !== undefined) {
      await page.keyboard.press("Control+k");
      await page.getByRole("dialog").getByRole("combobox").fill(search);
      await page.getByRole("option", { name: "Turn" }).first().waitFor();
    }
    await page.waitForFunction(() => document.querySelector(".skeleton, .counting") === null);
    await page.waitForLoadState("networkidle");
    await save(page, name, lookName);
  }
  if (chosen.length === 0 || chosen.includes("no-permission"))
    await takeOfUserWithoutPermission(page, lookName);
  await context.close();
}

async function takeOfUserWithoutPermission(page: Page, lookName: string): Promise<void> {
  await page.context().clearCookies();
  await signIn(page, "noor@halyard.example");
  await page.getByRole("button", { name: "Copy request" }).waitFor();
  await save(page, "no-permission", lookName);
}

async function save(page: Page, name: string, lookName: string): Promise<void> {
  const picture = `${name}-${lookName}`;
  if (folder !== undefined) {
    await page.screenshot({ path: join(folder, `${picture}.png`) });
    return;
  }
  if (lookName === LIGHT.name && SHOWN.includes(name))
    await page.screenshot({ path: join(IMAGES, `console-${name}.png`) });
  // A third of the bytes of PNG. Playwright itself has no WebP.
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send("Page.captureScreenshot", { format: "webp", quality: WEBP_QUALITY });
  writeFileSync(join(EVERY_SCREEN, `${picture}.webp`), Buffer.from(data, "base64"));
}

async function signIn(page: Page, email: string): Promise<void> {
  await page.goto(app.consoleUrl);
  await page.getByLabel("Email").fill(email);
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Sign in" }).click();
}
