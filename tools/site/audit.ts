/** Looks at the built site as readers do: in Chromium, in both looks, on a phone, without JavaScript; and by Lighthouse. */

import { mkdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromiumPath, launchChromium } from "@halyard/services";
import { formatDuration, run } from "../process.ts";
import { site } from "./prepare.ts";

/** One page of each kind. */
const PAGES: readonly (readonly [name: string, path: string])[] = [
  ["landing", ""],
  ["guide", "wire/channels"],
  ["concepts", "flags/concepts"],
  ["api", "reference/api/wire/client"],
  ["protocol", "reference/protocol"],
  ["performance", "evidence/performance"],
  ["http", "reference/http/index.html"],
];

const LOOKS = [
  { name: "light", colorScheme: "light", viewport: { width: 1360, height: 900 } },
  { name: "dark", colorScheme: "dark", viewport: { width: 1360, height: 900 } },
  { name: "phone", colorScheme: "light", viewport: { width: 390, height: 844 } },
] as const;

/** The least that Lighthouse must give. Timing depends on the machine and is not judged. */
const SCORES: Readonly<Record<string, number>> = { accessibility: 1, "best-practices": 0.95, seo: 0.95 };

type Browser = Awaited<ReturnType<typeof launchChromium>>;

/** What is wrong with the site at `url`. With a folder, pictures of all pages go there. */
export async function audit(url: string, shots: string | undefined): Promise<string[]> {
  if (shots !== undefined) mkdirSync(shots, { recursive: true });
  const browser = await launchChromium();
  const problems: string[] = [];
  const look = async (name: string, work: Promise<string[]>): Promise<void> => {
    const startedAt = performance.now();
    const found = await work;
    problems.push(...found);
    const mark = found.length === 0 ? "✓" : "✗";
    console.log(`${mark} ${name} (${formatDuration(performance.now() - startedAt)})`);
  };
  try {
    for (const one of LOOKS)
      await look(`${PAGES.length} pages, ${one.name}`, visit(browser, url, one, shots));
    await look("search", searchFor(browser, url, shots));
    await look("without JavaScript", readWithoutScripts(browser, url));
  } finally {
    await browser.close();
  }
  for (const [name, path] of PAGES) await look(`Lighthouse, ${name}`, runLighthouse(name, url + path));
  return problems;
}

async function visit(
  browser: Browser,
  url: string,
  { name: look, colorScheme, viewport }: (typeof LOOKS)[number],
  shots: string | undefined,
): Promise<string[]> {
  const problems: string[] = [];
  const context = await browser.newContext({ viewport, colorScheme, reducedMotion: "reduce" });
  const page = await context.newPage();
  let current = "";
  page.on("pageerror", ({ message }) => problems.push(`${current} (${look}): ${message}`));
  page.on("console", (message) => {
    if (message.type() === "error") problems.push(`${current} (${look}): ${message.text()}`);
  });
  page.on("request", (request) => {
    const address = request.url();
    if (!address.startsWith(url) && !/^(?:data|blob):/.test(address)) {
      problems.push(`${current} (${look}): requests ${address} from another origin.`);
    }
  });
  for (const [name, path] of PAGES) {
    current = path;
    await page.goto(url + path, { waitUntil: "networkidle" });
    await page.locator("h1").first().waitFor();
    const overflow = await page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
    if (overflow > 1) problems.push(`${path} (${look}): the page is ${overflow} px wider than the window.`);
    if (shots !== undefined) await page.screenshot({ path: join(shots, `${name}-${look}.png`) });
  }
  await context.close();
  return problems;
}

/** The search finds a guide by a standard term. */
async function searchFor(browser: Browser, url: string, shots: string | undefined): Promise<string[]> {
  const page = await browser.newPage({ viewport: { width: 1360, height: 900 } });
  await page.goto(`${url}wire/channels`, { waitUntil: "networkidle" });
  await page.getByRole("button", { name: "Search" }).first().click();
  await page.locator(".VPLocalSearchBox input").fill("presence");
  const first = page.locator(".VPLocalSearchBox .result").first();
  await first.waitFor();
  const address = (await first.getAttribute("href")) ?? "";
  if (shots !== undefined) await page.screenshot({ path: join(shots, "search-light.png") });
  await page.close();
  return address.includes("wire/presence") ? [] : [`The search for "presence" finds ${address} first.`];
}

/** Text, navigation and pictures are there without scripts. */
async function readWithoutScripts(browser: Browser, url: string): Promise<string[]> {
  const context = await browser.newContext({
    javaScriptEnabled: false,
    viewport: { width: 1360, height: 900 },
  });
  const page = await context.newPage();
  const problems: string[] = [];
  for (const [, path] of PAGES) {
    await page.goto(url + path, { waitUntil: "load" });
    const text = (await page.locator("body").allInnerTexts()).join(" ").trim();
    if (text.length < 500) problems.push(`${path} shows ${text.length} characters without JavaScript.`);
    if ((await page.locator("h1:visible").count()) === 0)
      problems.push(`${path} has no heading without JavaScript.`);
  }
  await page.goto(`${url}wire/channels`, { waitUntil: "load" });
  if ((await page.locator(".diagram img:visible").count()) === 0) {
    problems.push("wire/channels shows no diagram without JavaScript.");
  }
  if ((await page.locator("aside a:visible").count()) < 10) {
    problems.push("wire/channels shows no navigation without JavaScript.");
  }
  await context.close();
  return problems;
}

interface Report {
  readonly categories: Readonly<Record<string, { readonly score: number | null }>>;
  readonly audits: Readonly<
    Record<string, { readonly score: number | null; readonly title: string; readonly details?: unknown }>
  >;
}

async function runLighthouse(name: string, url: string): Promise<string[]> {
  const file = join(tmpdir(), `halyard-lighthouse-${process.pid}-${name}.json`);
  const { ok, output } = await run(
    "node",
    [
      "node_modules/lighthouse/cli/index.js",
      url,
      "--quiet",
      "--output=json",
      `--output-path=${file}`,
      `--only-categories=${Object.keys(SCORES).join(",")}`,
      // Nothing here judges timing, so the page is loaded once and as fast as the machine can.
      "--throttling-method=provided",
      "--disable-full-page-screenshot",
      "--max-wait-for-load=120000",
      // Otherwise it asks, and waits for an answer.
      "--no-enable-error-reporting",
      "--chrome-flags=--headless=new --no-sandbox --disable-gpu",
    ],
    { cwd: site, env: { CHROME_PATH: chromiumPath() }, timeoutMs: 5 * 60_000 },
  );
  if (!ok) return [`Lighthouse could not read ${url}:\n${output}`];
  const { categories, audits }: Report = JSON.parse(readFileSync(file, "utf8"));
  const scores = Object.keys(SCORES).map((id) => [id, categories[id]?.score ?? 0] as const);
  console.log(
    `  ${name.padEnd(12)} ${scores.map(([id, score]) => `${id} ${Math.round(score * 100)}`).join(", ")}`,
  );
  const short = scores.filter(([id, score]) => score < (SCORES[id] ?? 1));
  if (short.length === 0) return [];
  const failed = Object.entries(audits)
    .filter(([, { score }]) => score !== null && score < 1)
    .map(([id, { title, details }]) => `    ${id}: ${title} ${JSON.stringify(details ?? "").slice(0, 600)}`);
  return [
    `Lighthouse, ${name}: ${short.map(([id, score]) => `${id} ${score}`).join(", ")}\n${failed.join("\n")}`,
  ];
}
