/**
 * `npm run site -- dev`, `build`, `preview` or `audit`: the documentation site. See site/README.md.
 */

import { globSync, watch } from "node:fs";
import { join, relative } from "node:path";
import { parseArgs } from "node:util";
import { formatDuration, run, runTsc } from "../process.ts";
import { root } from "../repository.ts";
import { audit } from "./audit.ts";
import { findBrokenAddresses } from "./links.ts";
import { clearPages, installSite, must, refresh, site, writeApi, writeHttp, writePages } from "./prepare.ts";
import { serveSite } from "./server.ts";

const dist = join(site, "dist");
const COMMANDS = ["dev", "build", "preview", "audit"] as const;

const { values, positionals } = parseArgs({
  options: {
    base: { type: "string", default: "/" },
    url: { type: "string" },
    port: { type: "string", default: "4173" },
    shots: { type: "string" },
  },
  allowPositionals: true,
});
const command = COMMANDS.find((name) => name === positionals[0]);
const { base, url } = values;

if (command === undefined || positionals.length > 1) {
  fail(`"${positionals.join(" ")}" is no command. Use one of: ${COMMANDS.join(", ")}.`);
} else if (!/^\/(?:[\w.-]+\/)*$/.test(base)) {
  fail(`--base ${base} must begin and end with a slash, such as /0.2/.`);
} else {
  const env: Record<string, string> = {
    HALYARD_SITE_BASE: base,
    ...(url !== undefined && { HALYARD_SITE_URL: url }),
  };
  try {
    if (command === "dev") await develop(env);
    if (command === "build") await build(env);
    if (command === "preview") await preview();
    if (command === "audit") await check();
  } catch (error) {
    fail(error instanceof Error ? error.message : String(error));
  }
}

function fail(message: string): void {
  console.error(message);
  process.exitCode = 1;
}

async function timed(name: string, work: () => Promise<unknown>): Promise<void> {
  const startedAt = performance.now();
  const result = await work();
  const detail = typeof result === "number" ? `, ${result}` : "";
  console.log(`✓ ${name} (${formatDuration(performance.now() - startedAt)}${detail})`);
}

async function prepare(): Promise<void> {
  await installSite();
  clearPages();
  await timed("HTTP reference: operations", writeHttp);
  await timed("API reference: entry points", writeApi);
  await timed("pages", () => writePages(base));
}

async function build(env: Readonly<Record<string, string>>): Promise<void> {
  await prepare();
  await timed("types of the site", async () => {
    const { ok, output } = await runTsc(["--noEmit", "-p", join(site, "tsconfig.json")]);
    if (!ok) throw new Error(output);
  });
  await timed("VitePress", () =>
    must("node", ["node_modules/vitepress/bin/vitepress.js", "build", "."], {
      cwd: site,
      env,
      timeoutMs: 20 * 60_000,
    }),
  );
  const problems = findBrokenAddresses(dist, base);
  for (const problem of problems) console.error(problem);
  const pages = globSync("**/*.html", { cwd: dist }).length;
  if (problems.length > 0) fail(`✗ ${problems.length} broken links in ${pages} pages.`);
  else console.log(`✓ ${pages} pages in site/dist, no broken link, nothing from another origin.`);
}

async function develop(env: Readonly<Record<string, string>>): Promise<void> {
  await prepare();
  for (const folder of ["docs", "examples", "site"]) {
    watch(join(root, folder), { recursive: true }, (_event, name) => {
      if (name === null || /(?:^|\/)(?:node_modules|\.pages|\.cache|dist|\.vitepress)(?:\/|$)/.test(name))
        return;
      refresh(relative(root, join(root, folder, name)).replaceAll("\\", "/"), base);
    });
  }
  await run("node", ["node_modules/vitepress/bin/vitepress.js", "dev", ".", "--port", values.port], {
    cwd: site,
    env,
    live: true,
    // Until Ctrl+C: the longest that a timer can wait.
    timeoutMs: 2 ** 31 - 1,
  });
  process.exit();
}

async function preview(): Promise<void> {
  const { url: address } = await serveSite(dist, base, Number(values.port));
  console.log(`The built site is at ${address}. Stop it with Ctrl+C.`);
}

async function check(): Promise<void> {
  const served = await serveSite(dist, base, 0);
  try {
    const problems = await audit(served.url, values.shots);
    for (const problem of problems) console.error(problem);
    if (problems.length > 0) fail(`✗ ${problems.length} problems.`);
  } finally {
    await served.close();
  }
}
