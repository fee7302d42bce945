/** Checks that a page shows the server's values in the first paint and after hydration, even on a slow network. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createServerFlags, serializeBootstrap } from "@halyard/flags";
import { launchChromium, sized } from "@halyard/services";
import { fromNodeHeaders, toNodeHandler } from "better-auth/node";
import { build } from "esbuild";
import { createElement } from "react";
import { renderToString } from "react-dom/server";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { App, KEYS } from "../fixtures/no-flash-page.tsx";
import type { Host, Person } from "../host.ts";
import { suiteHost } from "../memory-host.ts";

type Browser = Awaited<ReturnType<typeof launchChromium>>;
type Context = Awaited<ReturnType<Browser["newContext"]>>;

/** Page loads: half before and half after the flags are turned off. */
const LOADS = sized(50, 10);
const AT_ONCE = 5;
const SLOW = { offline: false, latency: 60, downloadThroughput: 500_000, uploadThroughput: 100_000 };

let host: Host;
let ada: Person;
let server: Server;
let origin: string;
let browser: Browser;
const ids: string[] = [];

suiteHost({}, async (started) => {
  host = started;
  ada = await host.person("ada");
  for (const [at, key] of KEYS.entries()) {
    const name = "On for whom it is on";
    const common = { key, name, enabled: true };
    const { id } = await host.auth.api.createFeatureFlag({
      body:
        at % 2 === 0
          ? { ...common, type: "boolean", defaultValue: false, rolloutPercentage: 100 }
          : {
              ...common,
              type: "string",
              defaultValue: "off",
              bucketBy: at % 4 === 1 ? "userId" : "anonymousId",
              variants: [
                { key: "control", weight: 50, value: "on, control" },
                { key: "treatment", weight: 50, value: "on, treatment" },
              ],
            },
    });
    ids.push(id);
  }
});

beforeAll(async () => {
  const bundle = await build({
    entryPoints: [new URL("../fixtures/no-flash-page.tsx", import.meta.url).pathname],
    bundle: true,
    minify: true,
    write: false,
    format: "iife",
    target: "es2022",
    jsx: "automatic",
    conditions: ["@halyard/source"],
    define: { "process.env.NODE_ENV": '"production"' },
  });
  const script = bundle.outputFiles[0]?.text ?? "";
  const flags = createServerFlags(host.auth);
  const auth = toNodeHandler(host.auth);
  server = createServer((request, response) => {
    if (request.url?.startsWith("/api/auth/")) return void auth(request, response);
    if (request.url === "/app.js")
      return void response.setHeader("content-type", "text/javascript").end(script);
    void flags.bootstrap({ headers: fromNodeHeaders(request.headers) }).then((bootstrap) => {
      const html = renderToString(createElement(App, { bootstrap }));
      response
        .setHeader("content-type", "text/html")
        .end(
          `<!doctype html><meta charset="utf-8"><title>Flags</title><body><div id="root">${html}</div>` +
            `<script type="application/json" id="flags">${serializeBootstrap(bootstrap)}</script>` +
            `<script src="/app.js" defer></script></body>`,
        );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  browser = await launchChromium();
});
afterAll(async () => {
  await browser?.close();
  server?.closeAllConnections();
  await new Promise((resolve) => server?.close(resolve));
});

/** Runs in the page before its own scripts, and records every state of the flags from the first frame on. */
function watchFlags(): void {
  const seen = new Set<string>();
  const look = (): void => {
    // Before the parser reaches this element, which follows the list, the last flag may lack its text. No script has run.
    if (document.getElementById("flags") === null) return;
    const flags = [...document.querySelectorAll<HTMLElement>("[data-flag]")];
    if (flags.length === 20)
      seen.add(flags.map((flag) => `${flag.textContent} ${flag.style.background}`).join("\n"));
  };
  const everyFrame = (): void => {
    look();
    requestAnimationFrame(everyFrame);
  };
  requestAnimationFrame(everyFrame);
  new MutationObserver(look).observe(document, {
    subtree: true,
    childList: true,
    characterData: true,
    attributes: true,
  });
  Object.assign(globalThis, { seen });
}

interface Load {
  readonly html: string[];
  readonly seen: string[];
  readonly complaints: string[];
  /** At the first paint, and after hydration and a slow response. */
  readonly pictures: readonly Buffer[];
}

async function load(context: Context, takesPictures: boolean): Promise<Load> {
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const complaints: string[] = [];
  page.on("console", (entry) => void (entry.type() === "error" && complaints.push(entry.text())));
  page.on("pageerror", (error) => complaints.push(String(error)));
  const devtools = await context.newCDPSession(page);
  await devtools.send("Network.enable");
  await devtools.send("Network.emulateNetworkConditions", SLOW);
  await page.addInitScript(watchFlags);
  const answered = page.waitForResponse((response) => response.url().endsWith("/feature-flags/bootstrap"));
  const response = await page.goto(origin, { waitUntil: "commit" });
  const pictures: Buffer[] = [];
  if (takesPictures) {
    await page.locator("[data-flag]").last().waitFor();
    pictures.push(await page.screenshot());
  }
  await page.locator("body[data-hydrated]").waitFor();
  await (await answered).finished();
  // Waits two frames, so that React has rendered the response.
  await page.evaluate(
    () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))),
  );
  if (takesPictures) pictures.push(await page.screenshot());
  const html = [...((await response?.text()) ?? "").matchAll(/<li data-flag[^>]*>(.*?)<\/li>/g)];
  const seen = await page.evaluate(() => [...(globalThis as unknown as { seen: Set<string> }).seen]);
  await page.close();
  return { html: html.map(([, text]) => withQuotes(text ?? "")), seen, complaints, pictures };
}

const withQuotes = (html: string): string => html.replaceAll("&quot;", '"');

/** Loads the page repeatedly, with returning visitors, and compares each load with the server's values. */
async function loadAll(contexts: readonly Context[], total: number): Promise<Load[]> {
  const loads: Load[] = [];
  for (let done = 0; done < total; done += contexts.length) {
    loads.push(...(await Promise.all(contexts.map((context) => load(context, done === 0)))));
  }
  return loads;
}

function check(loads: readonly Load[]): void {
  for (const { html, seen, complaints, pictures } of loads) {
    expect(complaints).toEqual([]);
    expect(html).toHaveLength(20);
    expect(seen.map((state) => state.replaceAll(/ rgb\([^)]*\)/g, ""))).toEqual([html.join("\n")]);
    const [first, last] = pictures;
    if (first !== undefined && last !== undefined) expect(first.equals(last)).toBe(true);
  }
}

describe("a page with 20 flags on a slow network", () => {
  test(`shows one state only in ${LOADS} loads, even after the flags are turned off`, async () => {
    const contexts = await Promise.all(Array.from({ length: AT_ONCE }, () => browser.newContext()));
    // Two of the visitors are signed in.
    for (const context of contexts.slice(0, 2)) {
      const [name = "", value = ""] = (ada.headers["cookie"] ?? "").split("=", 2);
      await context.addCookies([{ name, value: decodeURIComponent(value), url: origin }]);
    }
    const on = await loadAll(contexts, LOADS / 2);
    check(on);
    expect(on.every(({ html }) => html.every((text) => /(true|"on, \w+") .* ready$/.test(text)))).toBe(true);

    for (const id of ids) await host.auth.api.updateFeatureFlag({ body: { id, enabled: false } });
    const off = await loadAll(contexts, LOADS / 2);
    check(off);
    expect(off.every(({ html }) => html.every((text) => /(false|"off") - ready$/.test(text)))).toBe(true);
    expect(on.length + off.length).toBe(LOADS);
  }, 480_000);
});
