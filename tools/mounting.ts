/**
 * The examples of docs/guide/flags-mounting.md, and those of Next.js in docs/guide/node-http-server.md, as they stand, in
 * real builds of each framework, with published packages.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { dirname, join, relative } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { findVersion } from "./follow/versions.ts";
import { findFences, findHeadings } from "./markdown.ts";
import { run } from "./process.ts";
import { scopeSetting } from "./release/registry.ts";
import { read, type Workspace } from "./repository.ts";
import type { Outcome } from "./steps.ts";

const PAGE = "docs/guide/flags-mounting.md";
const SERVER_PAGE = "docs/guide/node-http-server.md";

/** What the frameworks need and this repository does not have. */
const VERSIONS: Readonly<Record<string, string>> = {
  "@react-router/dev": "8.4.0",
  "@react-router/node": "8.4.0",
  "@react-router/serve": "8.4.0",
  "@sveltejs/adapter-node": "5.5.7",
  "@sveltejs/kit": "2.70.4",
  "@sveltejs/vite-plugin-svelte": "7.3.1",
  isbot: "5.2.3",
  next: "16.4.6",
  nuxt: "4.5.2",
  "react-router": "8.4.0",
  svelte: "5.57.3",
  typescript: "6.0.3",
};

/** What they need in the version of this repository. */
const SHARED: readonly string[] = [
  "@better-auth/api-key",
  "@better-auth/core",
  "@hono/node-server",
  "auth",
  "better-auth",
  "drizzle-kit",
  "drizzle-orm",
  "esbuild",
  "express",
  "fastify",
  "hono",
  "pg",
  "react",
  "react-dom",
  "vite",
  "ws",
  "zod",
];

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
  /** Whether the section mounts the console. */
  readonly hasConsole?: boolean;
  /** The custom server and the client of `SERVER_PAGE`, which are in the same project. */
  readonly publishes?: { readonly server: string; readonly client: string };
}

const bin = (name: string): string => join("..", "node_modules", ".bin", name);

const onNode = (section: string, program: string): Framework => ({
  section,
  folder: ".",
  start: [process.execPath, program],
  page: "/checkout",
});

export type FrameworkName = "hono" | "express" | "fastify" | "next" | "svelte" | "react-router" | "nuxt";

const FRAMEWORKS: Readonly<Record<FrameworkName, Framework>> = {
  // Bundled, as servers are deployed, although Node could run the page's file.
  hono: {
    ...onNode("Hono", "build/hono.js"),
    build: [bin("esbuild"), "hono.ts", "--bundle", "--platform=node", "--format=esm", "--outdir=build"],
    hasConsole: true,
  },
  express: onNode("Express", "express.ts"),
  fastify: onNode("Fastify", "fastify.ts"),
  next: {
    section: "Next.js",
    folder: "lib",
    build: [bin("next"), "build"],
    start: [bin("next"), "start"],
    page: "/checkout",
    publishes: { server: "next-server.js", client: "next-client.js" },
  },
  svelte: {
    section: "SvelteKit",
    folder: "src/lib/server",
    build: [bin("vite"), "build"],
    start: [process.execPath, "build/index.js"],
    page: "/checkout",
    hasConsole: true,
  },
  "react-router": {
    section: "React Router",
    folder: "app/lib",
    build: [bin("react-router"), "build"],
    start: [bin("react-router-serve"), "build/server/index.js"],
    page: "/checkout",
    hasConsole: true,
  },
  nuxt: {
    section: "Nuxt",
    folder: "server/utils",
    setupFolder: ".",
    build: [bin("nuxt"), "build"],
    start: [process.execPath, ".output/server/index.mjs"],
    page: "/api/checkout",
    hasConsole: true,
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
  const shared = Object.fromEntries(SHARED.map((name) => [name, findVersion(name)]));
  const dependencies = { ...VERSIONS, ...shared, ...published };
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
  const port = await freePort();
  writeProject(project, framework, port);
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
  const node = (file: string): Server => start([process.execPath, file], project, env);
  const { publishes } = framework;
  try {
    await use(start(framework.start, project, env), (server) =>
      tryOut(env.BETTER_AUTH_URL, framework, server),
    );
    if (publishes !== undefined)
      await use(node(publishes.server), async (server) => {
        await waitFor(env.BETTER_AUTH_URL, server);
        await use(node(publishes.client), (client) => tryPublishing(env.BETTER_AUTH_URL, client));
      });
    return { ok: true, output: "" };
  } catch (error) {
    return { ok: false, output: `${name}: ${String(error)}` };
  }
}

/** Ends the program afterwards. Its output says more than an error alone. */
async function use(program: Server, action: (program: Server) => Promise<void>): Promise<void> {
  try {
    await action(program);
  } catch (error) {
    throw new Error(`${String(error)}\n${program.output()}`);
  } finally {
    program.end();
  }
}

/** The files of one section of a page, and those above its first section, by path. */
function filesOf(page: string, section: string): Readonly<Record<string, string>> {
  const text = read(page);
  const headings = findHeadings(text);
  const sectionAt = (line: number): string | undefined =>
    headings.findLast((heading) => heading.line < line)?.text;
  const shared = page === PAGE ? headings[0]?.text : undefined;
  return Object.fromEntries(
    findFences(text).flatMap(({ info, line, lines }) => {
      const path = /(?:^|\s)file=(\S+)/.exec(info)?.[1];
      const owner = sectionAt(line);
      if (path === undefined || (owner !== section && owner !== shared)) return [];
      return [[path, `${lines.join("\n")}\n`]];
    }),
  );
}

function writeProject(root: string, framework: Framework, port: number): void {
  const { section, folder, publishes } = framework;
  const { "auth.ts": auth = "", "setup.ts": setup = "", ...rest } = filesOf(PAGE, section);
  const setupPath = setupPathOf(framework);
  const fromSetup = relative(dirname(setupPath), join(folder, "auth.ts"));
  const files = {
    ...(publishes && filesOf(SERVER_PAGE, section)),
    ...rest,
    "package.json": JSON.stringify({ name: "mounted", private: true, type: "module" }),
    [join(folder, "auth.ts")]: auth,
    [setupPath]: setup.replace('"./auth.ts"', `"./${fromSetup}"`),
  };
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content.replaceAll("3000", String(port)));
  }
}

function setupPathOf({ folder, setupFolder = folder }: Framework): string {
  return join(setupFolder, "setup.ts");
}

/** The admin that the page's `setup.ts` creates. */
const ADMIN = { email: "admin@example.com", password: "correct horse battery" };

/** Throws at the first response that is not as expected. */
async function tryOut(origin: string, { page, hasConsole }: Framework, server: Server): Promise<void> {
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
  if (hasConsole === true) await tryConsole(`${origin}/admin/flags`, { ...headers, cookie });
}

/** The console's page, a file of it, and its API with the statuses of errors. */
async function tryConsole(url: string, signedIn: Readonly<Record<string, string>>): Promise<void> {
  const page = await (await expectStatus(await fetch(url), 200)).text();
  const script = /src="\.\/(assets\/[^"]+)"/.exec(page)?.[1];
  await expectStatus(await fetch(`${url}/${script}`), 200);
  const flags = `${url}/api/feature-flags/admin/flags`;
  const headers = { ...signedIn, "x-halyard-console": "1" };
  await expectStatus(await fetch(flags, { headers: { ...headers, cookie: "" } }), 401);
  await expectText(await fetch(flags, { headers }), '"flags":');
  await expectStatus(await fetch(`${flags}/key:missing`, { headers, method: "DELETE" }), 404);
}

/** A route handler and a server action publish with the router to which the client is connected. */
async function tryPublishing(origin: string, client: Server): Promise<void> {
  await expectOutput(client, "joined");
  await expectText(await fetch(`${origin}/api/say`, { method: "POST" }), '"matchedLocal":1');
  await expectOutput(client, "from a route handler");
  const page = await (await fetch(origin)).text();
  const body = new FormData();
  body.append(/\$ACTION_ID_\w+/.exec(page)?.[0] ?? "no action", "");
  await expectStatus(await fetch(origin, { method: "POST", headers: { origin }, body }), 200);
  await expectOutput(client, "from a server action");
}

export async function expectOutput(program: Server, expected: string): Promise<void> {
  const deadline = performance.now() + TIMEOUT_MS;
  while (!program.output().includes(expected)) {
    if (program.isOver() || performance.now() > deadline) throw new Error(`"${expected}" was not printed.`);
    await sleep(50);
  }
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

export interface Server {
  output(): string;
  isOver(): boolean;
  end(): void;
}

export function start([program = "", ...args]: readonly string[], cwd: string, env: object): Server {
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

export async function waitFor(url: string, server: Server): Promise<void> {
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

export function freePort(): Promise<number> {
  const probe = createServer();
  return new Promise((resolve, reject) => {
    probe.once("error", reject);
    probe.listen(0, () => {
      const { port } = probe.address() as AddressInfo;
      probe.close(() => resolve(port));
    });
  });
}
