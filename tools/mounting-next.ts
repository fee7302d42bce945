/**
 * The app of docs/guide/flags-nextjs.md as it stands, in real builds with published packages, driven in a browser: server
 * component, hooks, console, and an open page that follows a change.
 */

import { mkdirSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { launchChromium } from "@halyard/services";
import { type PageStep, readPage } from "./follow/page.ts";
import { createServers } from "./follow/servers.ts";
import { expectOutput, freePort, type Server, start, use, waitFor } from "./mounting.ts";
import { run } from "./process.ts";
import { read } from "./repository.ts";
import type { Outcome } from "./steps.ts";

const PAGE = "docs/guide/flags-nextjs.md";

/** The admin that the page's `setup.ts` creates. */
const ADMIN = { email: "admin@example.com", password: "correct horse battery" };

/** A change passes the database, the socket's process and the page. */
const FOLLOWS_MS = 10_000;

export type Bundler = "Turbopack" | "webpack";
export type NextDatabase = "SQLite" | "PostgreSQL";

/** Builds, starts and drives the app in a folder whose `node_modules` has the packages. */
export async function driveNextApp(
  folder: string,
  bundler: Bundler,
  database: NextDatabase,
): Promise<Outcome> {
  const project = join(folder, `next-${bundler}-${database}`);
  const [port, livePort] = [await freePort(), await freePort()];
  const walk = readPage(PAGE, read(PAGE)).walks.find(({ name }) => name.endsWith(database));
  const servers = createServers();
  const write = async (text: string): Promise<string> =>
    (await servers.replaceUrls(text)).replaceAll("3000", String(port)).replaceAll("3001", String(livePort));
  const path = [join(folder, "node_modules", ".bin"), process.env["PATH"]].join(delimiter);
  const env = { PATH: path, PORT: String(port), NEXT_TELEMETRY_DISABLED: "1" };
  const programs: Server[] = [];
  try {
    for (const step of walk?.steps ?? []) {
      await follow(step, { project, env, write, bundler, programs });
    }
    const [live, next] = programs;
    if (live === undefined || next === undefined) throw new Error(`${PAGE} starts no servers.`);
    await use(live, () =>
      use(next, async () => {
        await waitFor(`http://localhost:${port}/checkout`, next);
        await drive(`http://localhost:${port}`);
      }),
    );
    return { ok: true, output: "" };
  } catch (error) {
    for (const program of programs) program.end();
    return { ok: false, output: `Next.js, ${bundler}, ${database}: ${String(error)}` };
  } finally {
    await servers.remove();
  }
}

interface Following {
  readonly project: string;
  readonly env: Readonly<Record<string, string>>;
  readonly write: (text: string) => Promise<string>;
  readonly bundler: Bundler;
  readonly programs: Server[];
}

async function follow(step: PageStep, { project, env, write, bundler, programs }: Following): Promise<void> {
  if (step.kind === "file") {
    const file = join(project, step.path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, await write(step.text));
  }
  if (step.kind !== "commands") return;
  writeFileSync(
    join(project, "package.json"),
    JSON.stringify({ name: "app", private: true, type: "module" }),
  );
  for (const command of step.commands) {
    // The packages are installed in the folder above.
    if (command.startsWith("npm ")) continue;
    const line = command.replace(/^npx /, "").replace("next build", `next build --${bundler.toLowerCase()}`);
    if (step.mode === "background") {
      const program = start(["bash", "-c", `exec ${line}`], project, env);
      programs.push(program);
      for (const text of step.output) await expectOutput(program, text.replaceAll("…", "").trim());
      continue;
    }
    const { ok, output } = await run("bash", ["-c", line], { cwd: project, env, timeoutMs: 300_000 });
    if (!ok) throw new Error(`${line}:\n${output}`);
  }
}

/** Throws at the first thing that is not as expected. */
async function drive(origin: string): Promise<void> {
  const browser = await launchChromium();
  const problems: string[] = [];
  try {
    const open = async (path: string) => {
      const page = await browser.newPage();
      page.on("pageerror", ({ message }) => void problems.push(message));
      page.on("console", (message) => {
        const isRequest = message.text().includes("Failed to load resource");
        if (message.type() === "error" && !isRequest) problems.push(message.text());
      });
      await page.goto(origin + path);
      return page;
    };
    const shop = await open("/checkout");
    await shop.getByText("Server component: the checkout you know").waitFor();
    await shop.getByText("Hook: the checkout you know (live)").waitFor();

    const admin = await open("/admin/flags");
    await admin.getByLabel("Email").fill(ADMIN.email);
    await admin.getByLabel("Password").fill(ADMIN.password);
    await admin.locator("button[type=submit]").click();
    await admin.getByText("New checkout").first().waitFor();
    const status = await admin.evaluate(async () => {
      const response = await fetch("/admin/flags/api/feature-flags/admin/flags/key:new-checkout", {
        method: "PATCH",
        headers: { "content-type": "application/json", "x-halyard-console": "1" },
        body: JSON.stringify({ enabled: true }),
      });
      return response.status;
    });
    if (status !== 200) throw new Error(`The console's API answered ${status}.`);

    await shop.getByText("Hook: the new checkout (live)").waitFor({ timeout: FOLLOWS_MS });
    await shop.reload();
    await shop.getByText("Server component: the new checkout").waitFor({ timeout: FOLLOWS_MS });
    if (problems.length > 0) throw new Error(`The pages logged errors:\n${problems.join("\n")}`);
  } catch (error) {
    throw new Error(`${String(error)}\n${problems.join("\n")}`);
  } finally {
    await browser.close();
  }
}
