/** Runs npm once for every page that starts with the same npm commands, and links the result into the others. */

import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { run } from "../process.ts";
import type { Outcome } from "../steps.ts";
import { terminalVariables } from "./terminal.ts";

const QUIET = ["--no-audit", "--no-fund", "--loglevel=error"];
const MANIFESTS = ["package.json", "package-lock.json"];

export interface Installations {
  /** Runs the command in the folder, or links the result of the same command in an equal folder. */
  run(command: string, cwd: string): Promise<Outcome>;
}

/** Whether the command changes nothing but the installed packages and the manifest. */
export function isInstallation(command: string): boolean {
  return /^npm (?:init|install|pkg)\b/.test(command);
}

export interface InstallationOptions {
  /** What to install for a package's name, or `undefined` if the name is unknown. */
  readonly specify: (name: string) => readonly string[] | undefined;
  /** More arguments for npm, which the page does not show. */
  readonly npmArgs: readonly string[];
}

export function createInstallations(cache: string, { specify, npmArgs }: InstallationOptions): Installations {
  const results = new Map<string, Promise<Outcome>>();

  const runAndKeep = async (args: readonly string[], cwd: string, kept: string): Promise<Outcome> => {
    const variables = Object.entries(terminalVariables()).map(([name, value]) => `${name}=${value}`);
    const runNpm = (...more: readonly string[]): Promise<Outcome> =>
      run("env", ["-i", ...variables, "npm", ...args, ...QUIET, ...npmArgs, ...more], { cwd });
    let outcome = await runNpm("--prefer-offline");
    // What npm has in its cache may be older than a dependency.
    if (!outcome.ok) outcome = await runNpm("--prefer-online");
    mkdirSync(kept, { recursive: true });
    copyInstallation(cwd, kept);
    return outcome;
  };

  return {
    async run(command, cwd) {
      const [, ...words] = command.split(/\s+/);
      const isInstall = words[0] === "install";
      const isName = (word: string, index: number): boolean =>
        isInstall && index > 0 && !word.startsWith("-") && !/.@|:/.test(word);
      const unknown = words.find((word, index) => isName(word, index) && specify(word) === undefined);
      if (unknown !== undefined) {
        return { ok: false, output: `Add a version of ${unknown} to tools/follow/versions.ts.` };
      }
      const args = words.flatMap((word, index) => (isName(word, index) ? (specify(word) ?? word) : word));
      const key = keyOf(command, cwd);
      const kept = join(cache, key);
      const earlier = results.get(key);
      if (earlier === undefined) {
        const outcome = runAndKeep(args, cwd, kept);
        results.set(key, outcome);
        return outcome;
      }
      const outcome = await earlier;
      if (outcome.ok) {
        copyInstallation(kept, cwd);
        rename(cwd);
      }
      return outcome;
    },
  };
}

/** Equal for folders with the same manifests, whatever the folders are called. */
function keyOf(command: string, cwd: string): string {
  const hash = createHash("sha256").update(command);
  for (const name of MANIFESTS) {
    const file = join(cwd, name);
    const text = existsSync(file) ? readFileSync(file, "utf8") : "";
    hash.update("\0").update(text.replaceAll(`"name": ${JSON.stringify(basename(cwd))}`, ""));
  }
  return hash.digest("hex").slice(0, 16);
}

function rename(cwd: string): void {
  for (const name of MANIFESTS) {
    const file = join(cwd, name);
    if (!existsSync(file)) continue;
    const manifest = JSON.parse(readFileSync(file, "utf8"));
    writeFileSync(file, `${JSON.stringify({ ...manifest, name: basename(cwd) }, null, 2)}\n`);
  }
}

function copyInstallation(from: string, to: string): void {
  for (const name of MANIFESTS) if (existsSync(join(from, name))) cpSync(join(from, name), join(to, name));
  const modules = join(to, "node_modules");
  rmSync(modules, { recursive: true, force: true });
  if (existsSync(join(from, "node_modules"))) linkTree(join(from, "node_modules"), modules);
}

/** The same files under a second name: packages are read, never changed. */
export function linkTree(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) linkTree(source, target);
    else if (entry.isSymbolicLink()) symlinkSync(readlinkSync(source), target);
    else linkSync(source, target);
  }
}
