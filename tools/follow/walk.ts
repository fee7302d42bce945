/** Follows pages literally, each in a folder of its own: writes its files, runs its commands, compares the output. */

import { cpSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { formatDuration } from "../process.ts";
import { isListening } from "../starting.ts";
import { expectNone, type Outcome } from "../steps.ts";
import { showsInBrowser } from "./browser.ts";
import {
  createInstallations,
  type InstallationOptions,
  type Installations,
  isInstallation,
  linkTree,
} from "./installations.ts";
import { findMissingLine } from "./output.ts";
import type { CommandStep, PageStep, Walk } from "./page.ts";
import { createServers, type Servers } from "./servers.ts";
import { type Background, runLine, startLine, until } from "./terminal.ts";

export interface Follow extends InstallationOptions {
  readonly walks: readonly Walk[];
  /** An empty folder. */
  readonly folder: string;
  /** How long a command may take to end after Ctrl+C. Default 10 s. */
  readonly stopTimeoutMs?: number;
}

/** Follows the pages one after the other, because they listen on the same ports, and prints the time of each. */
export async function followPages({ walks, folder, stopTimeoutMs, ...options }: Follow): Promise<Outcome> {
  const installations = createInstallations(join(folder, "installed"), options);
  const ended = new Map<string, Place>();
  const problems: string[] = [];
  for (const [index, walk] of inOrder(walks).entries()) {
    const startedAt = performance.now();
    const app = join(folder, String(index), "app");
    const problem = await followWalk(walk, app, { installations, ended, stopTimeoutMs });
    const time = formatDuration(performance.now() - startedAt);
    console.log(`  ${problem === undefined ? "✓" : "✗"} ${walk.name}: ${time}`);
    if (problem !== undefined) problems.push(`${walk.name} does not work as it stands:\n${problem}`);
  }
  return expectNone(problems);
}

/** A folder as a page left it. */
interface Place {
  readonly app: string;
  /** Folder of the terminal, from `app`. */
  readonly cwd: string;
}

/** What the walks share. */
interface Shared {
  readonly installations: Installations;
  readonly ended: Map<string, Place>;
  readonly stopTimeoutMs: number | undefined;
}

/** A page stands behind the one that it continues. */
function inOrder(walks: readonly Walk[]): Walk[] {
  return [
    ...walks.filter(({ continues }) => continues === undefined),
    ...walks.filter(({ continues }) => continues !== undefined),
  ];
}

async function followWalk(
  walk: Walk,
  app: string,
  { installations, ended, stopTimeoutMs }: Shared,
): Promise<string | undefined> {
  mkdirSync(app, { recursive: true });
  const start = walk.continues === undefined ? undefined : ended.get(walk.continues);
  if (walk.continues !== undefined && start === undefined) {
    return `It continues ${walk.continues}, which is not followed or does not work.`;
  }
  if (start !== undefined) copyApp(start, app);
  const taken = await waitForPorts();
  if (taken !== undefined) return `Another program uses port ${taken}. Stop it, and follow the page again.`;
  const servers = createServers();
  const scene: Scene = {
    cwd: start === undefined ? app : join(app, start.cwd),
    installations,
    servers,
    stopTimeoutMs,
    running: [],
    transcript: [],
  };
  try {
    for (const step of walk.steps) {
      const { ok, output } = await follow(step, scene);
      if (!ok) return [...scene.transcript, `${walk.page}:${step.line}: ${output}`].join("\n");
    }
    // The walk on SQLite comes first; its database is in the folder.
    if (!ended.has(walk.page)) ended.set(walk.page, { app, cwd: relative(app, scene.cwd) });
    return undefined;
  } finally {
    for (const background of scene.running) background.kill();
    await servers.remove();
  }
}

/** The ports of all pages. */
const PORTS = [3000, 5173];
const PORT_TIMEOUT_MS = 60_000;

/** The port that another program does not release in time. A page must not talk to that program. */
async function waitForPorts(): Promise<number | undefined> {
  for (const port of PORTS) {
    if (!(await until(async () => !(await isListening(port)), PORT_TIMEOUT_MS))) return port;
  }
  return undefined;
}

interface Scene {
  cwd: string;
  readonly installations: Installations;
  readonly servers: Servers;
  readonly stopTimeoutMs: number | undefined;
  readonly running: Background[];
  readonly transcript: string[];
}

const DONE: Outcome = { ok: true, output: "" };

async function follow(step: PageStep, scene: Scene): Promise<Outcome> {
  switch (step.kind) {
    case "file": {
      const file = join(scene.cwd, step.path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, await scene.servers.replaceUrls(step.text));
      return DONE;
    }
    case "commands":
      return followCommands(step, scene);
    case "browser":
      return showsInBrowser(step);
    case "stop":
      return stopAll(scene);
  }
}

async function stopAll({ running, stopTimeoutMs }: Scene): Promise<Outcome> {
  for (const background of running.splice(0)) {
    if (await background.stop(stopTimeoutMs)) continue;
    background.kill();
    return { ok: false, output: `Ctrl+C does not end: ${background.line}\n${background.output()}` };
  }
  return DONE;
}

async function followCommands({ mode, commands, output }: CommandStep, scene: Scene): Promise<Outcome> {
  if (mode === "manual") {
    console.log(`    not run: ${commands.join("; ")}`);
    return DONE;
  }
  let printed = "";
  for (const [index, line] of commands.entries()) {
    const isLast = index === commands.length - 1;
    const command = await scene.servers.replaceUrls(line);
    scene.transcript.push(`$ ${command}`);
    if (isLast && mode === "background") return startInBackground(command, output, printed, scene);
    const ended = await runCommand(command, scene);
    scene.transcript.push(ended.output.trim());
    printed += `${ended.output}\n`;
    const mustFail = isLast && mode === "fails";
    if (ended.ok === mustFail)
      return { ok: false, output: `${mustFail ? "It did not fail" : "It failed"}: ${command}` };
  }
  return compare(output, printed);
}

function compare(expected: readonly string[], printed: string): Outcome {
  const missing = findMissingLine(expected, printed);
  return missing === undefined ? DONE : { ok: false, output: `This line was not printed: ${missing}` };
}

async function startInBackground(
  command: string,
  expected: readonly string[],
  printed: string,
  { cwd, running, transcript }: Scene,
): Promise<Outcome> {
  const background = startLine(command, cwd);
  running.push(background);
  await background.waitFor((output) => findMissingLine(expected, printed + output) === undefined);
  transcript.push(background.output().trim());
  return compare(expected, printed + background.output());
}

/** npm's part of a line is shared between pages; bash runs the rest. */
async function runCommand(line: string, scene: Scene): Promise<Outcome> {
  const parts = line.split(" && ");
  if (!parts.some(isInstallation)) {
    const { cwd, ...outcome } = await runLine(line, scene.cwd);
    scene.cwd = cwd;
    return outcome;
  }
  let output = "";
  for (const part of parts) {
    const outcome = isInstallation(part)
      ? await scene.installations.run(part, scene.cwd)
      : await runCommand(part, scene);
    output += outcome.output;
    if (!outcome.ok) return { ok: false, output };
  }
  return { ok: true, output };
}

/** Packages are linked; everything else is copied, because the page may change it. */
function copyApp({ app, cwd }: Place, to: string): void {
  cpSync(app, to, { recursive: true, filter: (path) => basename(path) !== "node_modules" });
  const modules = join(app, cwd, "node_modules");
  if (existsSync(modules)) linkTree(modules, join(to, cwd, "node_modules"));
}
