/** An application whose pages have the toolbar and a strict content security policy, and visitors in Chromium. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { DatabaseSync } from "node:sqlite";
import { AxeBuilder } from "@axe-core/playwright";
import { liveFlags } from "@halyard/flags/live";
import { launchChromium } from "@halyard/services";
import { createRouter } from "@halyard/wire";
import { betterAuthSession, type SessionData } from "@halyard/wire/better-auth";
import { createNodeHandler } from "@halyard/wire/node";
import { build } from "esbuild";
import { onTestFinished } from "vitest";
import { type Host, type Person, startHost } from "../../../flags/test/host.ts";

type Browser = Awaited<ReturnType<typeof launchChromium>>;
type Page = Awaited<ReturnType<Browser["newPage"]>>;

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

export interface Visit {
  readonly query?: string;
  readonly theme?: "light" | "dark";
  readonly width?: number;
  /** Responds to requests for all flags instead of the server. */
  readonly flags?: object;
}

export interface Application {
  readonly host: Host;
  readonly origin: string;
  /** Opens the page in a new browser profile. Fails the test if the page reports an error or breaks its policy. */
  open(person: Person | undefined, visit?: Visit): Promise<Window>;
  close(): Promise<void>;
}

export interface Window {
  readonly page: Page;
  /** The paths of all requests to Better Auth. */
  readonly requests: readonly string[];
  readonly problems: readonly string[];
  /** Opens the panel. */
  openPanel(): Promise<void>;
  /** The violations that axe finds, one line each. Default: of all rules. */
  findViolations(rules?: readonly string[]): Promise<string[]>;
}

export async function startApplication(): Promise<Application> {
  const [bundle, host, browser] = await Promise.all([
    build({
      entryPoints: [new URL("../fixtures/toolbar-page.ts", import.meta.url).pathname],
      bundle: true,
      write: false,
      format: "esm",
      target: "es2022",
      conditions: ["@halyard/source"],
      define: { "process.env.NODE_ENV": '"development"' },
    }),
    startHost({ database: new DatabaseSync(":memory:") }),
    launchChromium(),
  ]);
  const script = bundle.outputFiles[0]?.text ?? "";
  const server = createServer((request, response) => {
    const { url = "/" } = request;
    if (url.startsWith("/api/auth")) return void passOn(host, request, response);
    const isScript = url === "/page.js";
    response.setHeader("content-security-policy", POLICY);
    response.setHeader("content-type", isScript ? "text/javascript" : "text/html; charset=utf-8");
    response.end(isScript ? script : HTML);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const router = createRouter<SessionData>();
  liveFlags(router, host.auth);
  const wire = createNodeHandler(router, {
    path: "/live",
    authenticate: betterAuthSession(host.auth),
    allowedOrigins: [origin],
  });
  server.on("upgrade", wire.upgrade);

  return {
    host,
    origin,
    open: (person, visit = {}) => openWindow(browser, origin, person, visit),
    async close() {
      await browser.close();
      await wire.stop();
      await host.close();
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Passes a request on to the host, as a request of its own origin. */
async function passOn({ origin }: Host, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { url = "/", method = "GET", headers } = request;
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const answer = await fetch(origin + url, {
    method,
    headers: {
      origin,
      cookie: headers.cookie ?? "",
      "content-type": headers["content-type"] ?? "application/json",
    },
    ...(method !== "GET" && { body: Buffer.concat(chunks) }),
  });
  response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "" });
  response.end(await answer.text());
}

const HTML = `<!doctype html>
<html lang="en">
  <head><title>Shop</title><meta name="viewport" content="width=device-width, initial-scale=1"></head>
  <body><main><h1>Shop</h1></main><script type="module" src="/page.js"></script></body>
</html>`;

async function openWindow(
  browser: Browser,
  origin: string,
  person: Person | undefined,
  { query = "", theme = "light", width = 1000, flags }: Visit,
): Promise<Window> {
  const context = await browser.newContext({
    viewport: { width, height: 760 },
    colorScheme: theme,
    reducedMotion: "reduce",
    locale: "en-GB",
  });
  const problems: string[] = [];
  onTestFinished(() => context.close());
  if (person !== undefined) {
    const cookies = (person.headers["cookie"] ?? "").split("; ").map((pair) => {
      const at = pair.indexOf("=");
      return { name: pair.slice(0, at), value: decodeURIComponent(pair.slice(at + 1)), url: origin };
    });
    await context.addCookies(cookies);
  }
  const page = await context.newPage();
  page.setDefaultTimeout(10_000);
  const requests: string[] = [];
  page.on("request", (request) => {
    const { pathname } = new URL(request.url());
    if (pathname.startsWith("/api/auth")) requests.push(pathname.replace("/api/auth", ""));
  });
  page.on("pageerror", ({ message }) => problems.push(message));
  page.on("console", (entry) => entry.type() === "error" && problems.push(entry.text()));
  if (flags !== undefined)
    await page.route("**/feature-flags/bootstrap", (route) =>
      route.fulfill({ json: { flags, evaluatedAt: new Date().toISOString(), context: {} } }),
    );
  await page.goto(`${origin}/${query}`);
  const toggle = page.getByRole("button", { name: /^Flags/ });
  await toggle.waitFor();
  return {
    page,
    requests,
    problems,
    async openPanel() {
      await toggle.click();
      await page.getByRole("dialog", { name: "Feature flags" }).waitFor();
    },
    async findViolations(rules) {
      const axe = new AxeBuilder({ page });
      const { violations } = await (rules ? axe.withRules([...rules]) : axe).analyze();
      return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`));
    },
  };
}
