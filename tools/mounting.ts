/** The examples of docs/guide/flags-mounting.md as they stand, in real builds of each framework, with published packages. */

import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { dirname, join, relative } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { findFences, findHeadings } from "./markdown.ts";
import { run } from "./process.ts";
import { scopeSetting } from "./release/registry.ts";
import { read, type Workspace } from "./repository.ts";
import type { Outcome } from "./steps.ts";

const PAGE = "docs/guide/flags-mounting.md";

/** What the frameworks need besides the packages of this repository. */
const VERSIONS: Readonly<Record<string, string>> = {
  "@better-auth/core": "1.7.7",
  "@hono/node-server": "2.1.6",
  "@sveltejs/adapter-node": "5.5.7",
  "@sveltejs/kit": "2.70.4",
  "@sveltejs/vite-plugin-svelte": "7.3.1",
  "better-auth": "1.7.7",
  express: "5.3.0",
  fastify: "5.12.8",
  hono: "4.13.17",
  next: "16.4.6",
  nuxt: "4.5.2",
  react: "19.3.1",
  "react-dom": "19.3.1",
  svelte: "5.57.3",
  typescript: "6.0.3",
  vite: "8.3.8",
};

interface Framework {
  /** The section of the page whose files make up the project. */
  readonly section: string;
  /** The folder of the page's `auth.ts`. */
  readonly folder: string;
  /** The folder of the page's `setup.ts`, where it is another one. */
  readonly setupFolder?: string;
  /** The program that builds the app. Servers of plain Node are not built. */
  readonly build?: readonly string[];
  readonly start: readonly string[];
  /** Path of the page that shows the flag. */
  readonly page: string;
}

const bin = (name: string): string => join("..", "node_modules", ".bin", name);

const onNode = (section: string, program: string): Framework => ({
  section,
  folder: ".",
  start: [process.execPath, program],
  page: "/checkout",
});

export type FrameworkName = "hono" | "express" | "fastify" | "next" | "svelte" | "nuxt";

const FRAMEWORKS: Readonly<Record<FrameworkName, Framework>> = {
  hono: onNode("Hono", "hono.ts"),
  express: onNode("Express", "express.ts"),
  fastify: onNode("Fastify", "fastify.ts"),
  next: {
    section: "Next.js",
    folder: "lib",
    build: [bin("next"), "build"],
    start: [bin("next"), "start"],
    page: "/checkout",
  },
  svelte: {
    section: "SvelteKit",
    folder: "src/lib/server",
    build: [bin("vite"), "build"],
    start: [process.execPath, "build/index.js"],
    page: "/checkout",
  },
  nuxt: {
    section: "Nuxt",
    folder: "server/utils",
    setupFolder: ".",
    build: [bin("nuxt"), "build"],
    start: [process.execPath, ".output/server/index.mjs"],
    page: "/api/checkout",
  },
};

/** Installs the packages of all frameworks in one folder, in which each framework gets a project. */
export async function installFrameworks(
  folder: string,
  packages: readonly Workspace[],
  registryUrl: string,
): Promise<Outcome> {
  mkdirSync(folder, { recursive: true });
  const published = Object.fromEntries(packages.map(({ manifest }) => [manifest.name, manifest.version]));
  const dependencies = { ...VERSIONS, ...published };
  const manifest = { name: "mounting", private: true, type: "module", dependencies };
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest, null, 2));
  writeFileSync(join(folder, ".npmrc"), `${scopeSetting(registryUrl)}\n`);
  const args = ["install", "--prefer-offline", "--no-audit", "--no-fund", "--loglevel=error"];
  return run("npm", args, { cwd: folder });
}

/** Builds and starts the framework's example, and changes and deletes a flag over HTTP. */
export async function mountIn(name: FrameworkName, folder: string): Promise<Outcome> {
  const framework = FRAMEWORKS[name];
  const project = join(folder, name);
  writeProject(project, framework);
  const port = await freePort();
  const env = {
    BETTER_AUTH_SECRET: "a secret that is only good enough for this check, which is all it does",
    BETTER_AUTH_URL: `http://localhost:${port}`,
    NEXT_TELEMETRY_DISABLED: "1",
    NUXT_TELEMETRY_DISABLED: "1",
    ORIGIN: `http://localhost:${port}`,
    PORT: String(port),
  };
  const seeded = await run(process.execPath, [setupPathOf(framework)], { cwd: project, env });
  if (!seeded.ok) return seeded;
  const [builder, ...buildArgs] = framework.build ?? [];
  if (builder !== undefined) {
    const built = await run(builder, buildArgs, { cwd: project, env });
    if (!built.ok) return built;
  }
  const server = start(framework.start, project, env);
  try {
    await tryOut(env.BETTER_AUTH_URL, framework.page, server);
    return { ok: true, output: "" };
  } catch (error) {
    return { ok: false, output: `${name}: ${String(error)}\n${server.output()}` };
  } finally {
    server.end();
  }
}

/** The files that every project of the page has, and those of one section, by path. */
function filesOf(section: string): Readonly<Record<string, string>> {
  const text = read(PAGE);
  const headings = findHeadings(text);
  const sectionAt = (line: number): string | undefined =>
    headings.findLast((heading) => heading.line < line)?.text;
  const shared = headings[0]?.text;
  return Object.fromEntries(
    findFences(text).flatMap(({ info, line, lines }) => {
      const path = /(?:^|\s)file=(\S+)/.exec(info)?.[1];
      const owner = sectionAt(line);
      if (path === undefined || (owner !== section && owner !== shared)) return [];
      return [[path, `${lines.join("\n")}\n`]];
    }),
  );
}

function writeProject(root: string, framework: Framework): void {
  const { section, folder } = framework;
  const { "auth.ts": auth = "", "setup.ts": setup = "", ...rest } = filesOf(section);
  const setupPath = setupPathOf(framework);
  const fromSetup = relative(dirname(setupPath), join(folder, "auth.ts"));
  const files = {
    ...rest,
    "package.json": JSON.stringify({ name: "mounted", private: true, type: "module" }),
    [join(folder, "auth.ts")]: auth,
    [setupPath]: setup.replace('"./auth.ts"', `"./${fromSetup}"`),
  };
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
}

function setupPathOf({ folder, setupFolder = folder }: Framework): string {
  return join(setupFolder, "setup.ts");
}

/** The admin that the page's `setup.ts` creates. */
const ADMIN = { email: "admin@example.com", password: "correct horse battery" };

/** Throws at the first response that is not as expected. */
async function tryOut(origin: string, page: string, server: Server): Promise<void> {
  await waitFor(origin + page, server);
  const api = `${origin}/api/auth`;
  const flags = `${api}/feature-flags/admin/flags`;
  const headers = { origin, "content-type": "application/json" };
  const send = (method: string, url: string, body?: object, cookie = ""): Promise<Response> =>
    fetch(url, { method, headers: { ...headers, cookie }, ...(body && { body: JSON.stringify(body) }) });

  await expectPage(origin + page, "The checkout you know");
  const signedIn = await expectStatus(await send("POST", `${api}/sign-in/email`, ADMIN), 200);
  const cookie = signedIn.headers
    .getSetCookie()
    .map((line) => line.split(";", 1)[0])
    .join("; ");
  const listed = await expectStatus(await send("GET", flags, undefined, cookie), 200);
  const {
    flags: [created],
  } = (await listed.json()) as { flags: readonly { id: string }[] };
  const flag = `${flags}/${created?.id}`;
  await expectStatus(await send("PATCH", flag, { rolloutPercentage: 100 }), 401);
  await expectStatus(await send("PATCH", flag, { rolloutPercentage: 100 }, cookie), 200);
  await expectPage(origin + page, "The new checkout");
  const evaluated = await send("POST", `${api}/feature-flags/evaluate`, { flagKey: "new-checkout" });
  await expectText(evaluated, '"value":true');
  await expectText(await send("GET", flag, undefined, cookie), '"key":"new-checkout"');
  await expectStatus(await send("DELETE", flag, undefined, cookie), 204);
  await expectPage(origin + page, "The checkout you know");
}

async function expectStatus(response: Response, status: number): Promise<Response> {
  if (response.status === status) return response;
  throw new Error(`${response.url} answered ${response.status}, not ${status}: ${await response.text()}`);
}

async function expectText(response: Response, expected: string): Promise<void> {
  const text = await (await expectStatus(response, 200)).text();
  if (!text.includes(expected)) throw new Error(`${response.url} does not contain ${expected}: ${text}`);
}

/** A framework may load the auth instance once for pages and once for routes. Each polls for the changes of the other. */
async function expectPage(url: string, expected: string): Promise<void> {
  const deadline = performance.now() + TIMEOUT_MS;
  while (performance.now() < deadline) {
    const text = await (await fetch(url)).text();
    if (text.includes(expected)) return;
    await sleep(200);
  }
  throw new Error(`${url} does not contain "${expected}".`);
}

interface Server {
  output(): string;
  isOver(): boolean;
  end(): void;
}

function start([program = "", ...args]: readonly string[], cwd: string, env: object): Server {
  const child: ChildProcess = spawn(program, args, {
    cwd,
    env: { ...process.env, ...env, NODE_ENV: "production" },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  let output = "";
  let isOver = false;
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  for (const event of ["error", "exit"]) {
    child.on(event, () => {
      isOver = true;
    });
  }
  return {
    output: () => output,
    isOver: () => isOver,
    end() {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
      } catch {
        // It has ended.
      }
    },
  };
}

const TIMEOUT_MS = 60_000;

async function waitFor(url: string, server: Server): Promise<void> {
  const deadline = performance.now() + TIMEOUT_MS;
  while (performance.now() < deadline && !server.isOver()) {
    try {
      await fetch(url);
      return;
    } catch {
      await sleep(100);
    }
  }
  throw new Error(`No response from ${url}.`);
}

function freePort(): Promise<number> {
  const probe = createServer();
  return new Promise((resolve, reject) => {
    probe.once("error", reject);
    probe.listen(0, () => {
      const { port } = probe.address() as AddressInfo;
      probe.close(() => resolve(port));
    });
  });
}
