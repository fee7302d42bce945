/** A person with a browser of their own: opens the console, signs in, and notices everything that goes wrong in the page. */
import { AxeBuilder } from "@axe-core/playwright";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { type Account, type Application, PASSWORD } from "./application.ts";

export interface Visitor {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Messages of the page about errors: uncaught ones, and what the policy blocked. */
  readonly problems: readonly string[];
  open(path: string): Promise<void>;
  /** Violations that axe finds now, one line each. Default: all rules of WCAG 2.2 AA, and best practices. */
  findViolations(rules?: readonly string[]): Promise<string[]>;
  leave(): Promise<void>;
}

export interface VisitorOptions {
  readonly theme?: "light" | "dark";
  readonly width?: number;
}

const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

export async function visit(
  browser: Browser,
  { url }: Application,
  account?: Account,
  { theme = "light", width = 1280 }: VisitorOptions = {},
): Promise<Visitor> {
  const context = await browser.newContext({
    viewport: { width, height: 860 },
    colorScheme: theme,
    reducedMotion: "reduce",
    locale: "en-GB",
  });
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  const problems: string[] = [];
  page.on("pageerror", ({ message }) => void problems.push(message));
  page.on("console", (message) => {
    // Refused requests are logged by the browser; the screens show them.
    const isRequest = /Failed to load resource/.test(message.text());
    if (message.type() === "error" && !isRequest) problems.push(message.text());
  });
  const open = async (path: string): Promise<void> => {
    await page.goto(url + path);
  };
  if (account !== undefined) await context.addCookies(await cookiesOf(url, account));
  await open("/");
  if (account !== undefined)
    await page.getByRole("heading", { name: "Flags", exact: true, level: 1 }).waitFor();
  return {
    page,
    context,
    problems,
    open,
    async findViolations(rules) {
      const axe = new AxeBuilder({ page });
      const { violations } = await (rules === undefined
        ? axe.withTags(TAGS)
        : axe.withRules([...rules])
      ).analyze();
      return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`));
    },
    leave: () => context.close(),
  };
}

/** The cookies of a new session, without the form. */
async function cookiesOf(
  url: string,
  { email }: Account,
): Promise<{ name: string; value: string; url: string }[]> {
  const { origin } = new URL(url);
  const response = await fetch(`${origin}/api/auth/sign-in/email`, {
    method: "POST",
    headers: { origin, "content-type": "application/json" },
    body: JSON.stringify({ email, password: PASSWORD }),
  });
  return response.headers.getSetCookie().map((line) => {
    const [pair = ""] = line.split(";", 1);
    const at = pair.indexOf("=");
    return { name: pair.slice(0, at), value: pair.slice(at + 1), url: origin };
  });
}

export async function signIn(page: Page, { email }: Account): Promise<void> {
  await page.getByLabel("Email").fill(email);
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Flags", exact: true, level: 1 }).waitFor();
}
