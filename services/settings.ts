// The environment variables of the services, read in one place.
import { chmodSync, lstatSync, mkdirSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";

export type Environment = Readonly<Record<string, string | undefined>>;

/** The value of a variable. An empty one counts as not set. */
export function setting(env: Environment, name: string): string | undefined {
  const value = env[name]?.trim();
  return value === "" ? undefined : value;
}

/** False when `HALYARD_SERVICES=external` forbids starting and installing servers. */
export function mayProvide(env: Environment): boolean {
  const value = setting(env, "HALYARD_SERVICES");
  if (value === undefined) return true;
  if (value === "external") return false;
  throw new Error(
    `HALYARD_SERVICES is "${value}": it can be "external" (start and install nothing) or not set.`,
  );
}

/** The local port of a server: `HALYARD_REDIS_PORT` and similar, otherwise the usual one. */
export function localPort(env: Environment, variable: string, usual: number): number {
  const value = setting(env, variable);
  if (value === undefined) return usual;
  const port = Number(value);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) {
    throw new Error(`${variable} is "${value}": it must be a port between 1 and 65535.`);
  }
  return port;
}

/** The folder for data and records of started shared servers: `HALYARD_SERVICES_DIR`, otherwise in the temporary directory. */
export function servicesDirectory(env: Environment): string {
  const { uid } = userInfo();
  const directory = setting(env, "HALYARD_SERVICES_DIR") ?? join(tmpdir(), `halyard-services-${uid}`);
  mkdirSync(directory, { recursive: true });
  const stats = lstatSync(directory);
  // Other users of the machine can predict the default path, so a directory that they created is not trusted.
  if (!stats.isDirectory() || (process.platform !== "win32" && stats.uid !== uid)) {
    throw new Error(
      `${directory} belongs to another user. Remove it, or set HALYARD_SERVICES_DIR to a directory of yours.`,
    );
  }
  // A database server may run as its own user, which must be able to reach its directory in here.
  chmodSync(directory, 0o711);
  return directory;
}
