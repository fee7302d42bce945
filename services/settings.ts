// The environment variables that steer the services, read in one place.
import { chmodSync, lstatSync, mkdirSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";

export type Environment = Readonly<Record<string, string | undefined>>;

/** The value of a variable; an empty one counts as not set. */
export function setting(env: Environment, name: string): string | undefined {
  const value = env[name]?.trim();
  return value === "" ? undefined : value;
}

/** False when `HALYARD_SERVICES=external` forbids us to start or install anything. */
export function mayProvide(env: Environment): boolean {
  const value = setting(env, "HALYARD_SERVICES");
  if (value === undefined) return true;
  if (value === "external") return false;
  throw new Error(
    `HALYARD_SERVICES is "${value}": it can be "external" (start and install nothing) or not set.`,
  );
}

/** The local port where a server is looked for and started: `HALYARD_REDIS_PORT` and its like, else the usual one. */
export function localPort(env: Environment, variable: string, usual: number): number {
  const value = setting(env, variable);
  if (value === undefined) return usual;
  const port = Number(value);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) {
    throw new Error(`${variable} is "${value}": it must be a port between 1 and 65535.`);
  }
  return port;
}

/** Where shared servers that we started keep their data and their records: `HALYARD_SERVICES_DIR`, else in the temporary directory. */
export function servicesDirectory(env: Environment): string {
  const { uid } = userInfo();
  const directory = setting(env, "HALYARD_SERVICES_DIR") ?? join(tmpdir(), `halyard-services-${uid}`);
  mkdirSync(directory, { recursive: true });
  const stats = lstatSync(directory);
  // The default path can be foreseen by others on the machine: a directory they made is not to be trusted.
  if (!stats.isDirectory() || (process.platform !== "win32" && stats.uid !== uid)) {
    throw new Error(
      `${directory} belongs to somebody else. Remove it, or set HALYARD_SERVICES_DIR to your own.`,
    );
  }
  // A database server may run as a user of its own, who must be able to reach its directory in here.
  chmodSync(directory, 0o711);
  return directory;
}
