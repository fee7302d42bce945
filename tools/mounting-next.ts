/**
 * The app of docs/guide/flags-nextjs.md as it stands, in real builds with published packages, driven in a browser: server
 * component, hooks, console, and an open page that follows a change. A route beside it evaluates remotely.
 */

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { launchChromium } from "@halyard/services";
import { type PageStep, readPage } from "./follow/page.ts";
import { createServers } from "./follow/servers.ts";
import { expectOutput, freePort, type Server, start, waitFor } from "./mounting.ts";
import { run } from "./process.ts";
import { read } from "./repository.ts";
import type { Outcome } from "./steps.ts";

const PAGE = "docs/guide/flags-nextjs.md";
/** Its `server.ts` turns a flag on and off, and writes the key for remote evaluation to `.env`. */
const REMOTE_PAGE = "docs/guide/flags-remote.md";

const REMOTE_ROUTE = `
import { createRemoteFlags } from "@halyard/flags/remote";

let flags;
export const dynamic = "force-dynamic";
export async function GET() {
  flags ??= createRemoteFlags({ url: process.env.FLAGS_URL, key: process.env.FLAGS_KEY });
  await flags.ready;
  return Response.json(flags.isEnabled("new-checkout", { context: { userId: "ada" } }));
}
`;

/** The admin that the page's `setup.ts` creates. */
const ADMIN = { email: "admin@example.com", password: "correct horse battery" };

/** A change passes the database, the socket's process and the page. */
const FOLLOWS_MS = 10_000;
/** Within this time, the page promises, every copy in Next.js has read the change. */
const POLL_MS = 1000;

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
  const fill = async (text: string): Promise<string> =>
    (await servers.replaceUrls(text)).replaceAll("3000", String(port)).replaceAll("3001", String(livePort));
  const path = [join(folder, "node_modules", ".bin"), process.env["PATH"]].join(delimiter);
  const programs: Server[] = [];
  try {
    const remote = await startRemoteServer(join(project, "remote"), programs);
    write(join(project, "app/remote/route.js"), REMOTE_ROUTE);
    const env = { PATH: path, PORT: String(port), NEXT_TELEMETRY_DISABLED: "1", ...remote };
    for (const step of walk?.steps ?? []) {
      await follow(step, { project, env, fill, bundler, programs });
    }
    const next = programs.at(-1);
    if (next === undefined) throw new Error(`${PAGE} starts no server.`);
    await waitFor(`http://localhost:${port}/checkout`, next);
    await drive(`http://localhost:${port}`);
    return { ok: true, output: "" };
  } catch (error) {
    const outputs = programs.map((program) => program.output());
    return {
      ok: false,
      output: [`Next.js, ${bundler}, ${database}: ${String(error)}`, ...outputs].join("\n"),
    };
  } finally {
    for (const program of programs) program.end();
    await servers.remove();
  }
}

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

/** Another application, whose flags the Next.js app has no database for. */
async function startRemoteServer(folder: string, programs: Server[]): Promise<Record<string, string>> {
  const port = await freePort();
  const steps = readPage(REMOTE_PAGE, read(REMOTE_PAGE)).walks.flatMap((walk) => walk.steps);
  const server = steps.find((step) => step.kind === "file" && step.path === "server.ts");
  if (server?.kind !== "file") throw new Error(`${REMOTE_PAGE} has no server.ts.`);
  write(join(folder, "package.json"), '{ "type": "module" }');
  write(join(folder, "server.ts"), server.text.replaceAll("3000", String(port)));
  const secret = "a secret that is only good enough for this check, which is all it does";
  const program = start([process.execPath, "server.ts"], folder, { BETTER_AUTH_SECRET: secret });
  programs.push(program);
  await expectOutput(program, "Listening");
  const key = readFileSync(join(folder, ".env"), "utf8").trim().replace("FLAGS_KEY=", "");
  return { FLAGS_KEY: key, FLAGS_URL: `ws://localhost:${port}/flag-definitions` };
}

interface Following {
  readonly project: string;
  readonly env: Readonly<Record<string, string>>;
  /** With the ports and databases of this run. */
  readonly fill: (text: string) => Promise<string>;
  readonly bundler: Bundler;
  readonly programs: Server[];
}

async function follow(step: PageStep, { project, env, fill, bundler, programs }: Following): Promise<void> {
  if (step.kind === "file") {
    write(join(project, step.path), await fill(step.text));
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
      for (const text of step.output)
        await expectOutput(program, (await fill(text)).replaceAll("…", "").trim());
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
    // A server component renders once per request, and Next.js itself polls for changes.
    await shop.waitForTimeout(POLL_MS);
    await shop.reload();
    await shop.getByText("Server component: the new checkout").waitFor();

    const seen = new Set<unknown>();
    const deadline = performance.now() + FOLLOWS_MS;
    while (seen.size < 2 && performance.now() < deadline)
      seen.add(await (await fetch(`${origin}/remote`)).json());
    if (!seen.has(true) || !seen.has(false)) throw new Error("Remote flags do not follow changes.");
    if (problems.length > 0) throw new Error(`The pages logged errors:\n${problems.join("\n")}`);
  } catch (error) {
    throw new Error(`${String(error)}\n${problems.join("\n")}`);
  } finally {
    await browser.close();
  }
}
