/** A person with a browser: opens the console, signed in, and notices everything that goes wrong in the page. */
import { AxeBuilder } from "@axe-core/playwright";
import type { Browser, BrowserContext, Page, WebSocket } from "playwright-core";
import { expect } from "vitest";
import { type Account, type Application, PASSWORD } from "./application.ts";

export interface Visitor {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Messages of the page about errors: uncaught ones, and what the policy blocked. */
  readonly problems: readonly string[];
  /** Opens a path of the console, and waits for its heading. */
  open(path: string): Promise<void>;
  /** Violations that axe finds now, one line each. Default: all rules of WCAG 2.2 AA, and best practices. */
  findViolations(rules?: readonly string[]): Promise<string[]>;
  /** Until `read` gives `expected`, with a second of the page's time before each try. Needs `hasClock`. */
  untilLater<Value>(read: () => Promise<Value>, expected: Value): Promise<void>;
  /** Until the page has a socket on which the server tells of changes. */
  untilWatching(): Promise<void>;
  leave(): Promise<void>;
}

export interface VisitorOptions {
  readonly theme?: "light" | "dark";
  readonly width?: number;
  /** Absent: an anonymous visitor. */
  readonly account?: Account;
  /** Default `/`. */
  readonly path?: string;
  /** Default: the console that polls. */
  readonly url?: string;
  /** Whether the test moves the clock of the page, so that it need not wait for timers. */
  readonly hasClock?: boolean;
  /** A browser of its own, for a test that changes the session. Default: one for all visits of an account. */
  readonly isAlone?: boolean;
}

const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** Opens pages. Visits of the same account share cookies and the browser's cache, so that only the first is slow. */
export function createVisits(
  browser: Browser,
  app: Application,
): (options?: VisitorOptions) => Promise<Visitor> {
  const shared = new Map<string, Promise<BrowserContext>>();
  const openContext = async ({ theme = "light", width = 1280, account, hasClock }: VisitorOptions) => {
    const context = await browser.newContext({
      viewport: { width, height: 860 },
      colorScheme: theme,
      reducedMotion: "reduce",
      locale: "en-GB",
    });
    if (hasClock === true) await context.clock.install();
    if (account !== undefined) await context.addCookies(await cookiesOf(app.url, account));
    return context;
  };
  return async (options = {}) => {
    const { theme, width, account, path = "/", url = app.url, isAlone = account === undefined } = options;
    const name = [account?.id, theme, width, options.hasClock].join();
    const opening = (isAlone ? undefined : shared.get(name)) ?? openContext(options);
    if (!isAlone) shared.set(name, opening);
    const context = await opening;
    const page = await context.newPage();
    page.setDefaultTimeout(15_000);
    const problems: string[] = [];
    page.on("pageerror", ({ message }) => void problems.push(message));
    page.on("console", (message) => {
      // Refused requests are logged by the browser; the screens show them.
      const isRequest = /Failed to load resource|WebSocket connection/.test(message.text());
      if (message.type() === "error" && !isRequest) problems.push(message.text());
    });
    const watching = new Set<WebSocket>();
    page.on("websocket", (socket) => {
      socket.on("framereceived", ({ payload }) => {
        if (String(payload).includes("flags:watched")) watching.add(socket);
      });
      socket.on("close", () => watching.delete(socket));
    });
    const open = async (next: string): Promise<void> => {
      await page.goto(url + next);
      if (account !== undefined) await page.locator("h1, .empty-title").first().waitFor();
    };
    await open(path);
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
      async untilLater(read, expected) {
        const tryLater = async () => {
          await page.clock.fastForward(1_000);
          return read();
        };
        await expect.poll(tryLater, { timeout: 15_000 }).toEqual(expected);
      },
      untilWatching: () => expect.poll(() => watching.size, { timeout: 15_000 }).toBe(1),
      leave: () => (isAlone ? context.close() : page.close()),
    };
  };
}

/** The cookies of a new session, without the form. */
export async function cookiesOf(
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
