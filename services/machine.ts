// The machine's programs and users, as far as servers need them.
import { accessSync, constants, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The full path of a program in PATH or in the `more` directories. Undefined when it is not installed. */
export function findProgram(name: string, more: readonly string[] = []): string | undefined {
  const directories = [...(process.env["PATH"] ?? "").split(":"), "/usr/sbin", "/usr/local/sbin", ...more];
  return directories
    .filter((directory) => directory !== "")
    .map((directory) => join(directory, name))
    .find(isExecutable);
}

/** The full path of a program that `missingPrograms` has checked. */
export function programPath(name: string, more: readonly string[] = []): string {
  const path = findProgram(name, more);
  if (path === undefined) throw new Error(`${name} is not installed. Run "npm run services -- up" first.`);
  return path;
}

export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Debian installs PostgreSQL's programs outside PATH, in one directory per version. The newest comes first. */
export function postgresDirectories(): string[] {
  const parent = "/usr/lib/postgresql";
  try {
    return readdirSync(parent)
      .sort((a, b) => Number(b) - Number(a))
      .map((version) => join(parent, version, "bin"));
  } catch {
    return [];
  }
}

export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

const FALLBACK_USER = "nobody";

/** The user of a database server, which refuses to run as root: its own user, otherwise the fallback. */
export function serverUser(name: string): { uid: number; gid: number } | undefined {
  if (!isRoot()) return undefined;
  const users = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .map((line) => line.split(":"));
  const entry = [name, FALLBACK_USER]
    .map((wanted) => users.find((user) => user[0] === wanted))
    .find((user) => user !== undefined);
  if (entry === undefined)
    throw new Error(
      `The server cannot run as root, and the users "${name}" and "${FALLBACK_USER}" do not exist. Create one of them.`,
    );
  return { uid: Number(entry[2]), gid: Number(entry[3]) };
}
