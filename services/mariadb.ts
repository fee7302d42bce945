// MariaDB: detection, private and shared servers, and a database per test file.
import { chownSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { findProgram, programPath, serverUser } from "./machine.ts";
import { run } from "./run.ts";
import { runningUrl, type ServerKind } from "./server.ts";
import { type TestDatabase, uniqueName } from "./test-database.ts";

async function queryOnce(url: string, sql: string): Promise<unknown> {
  const { createConnection } = await import("mysql2/promise");
  const connection = await createConnection({ uri: url, connectTimeout: 3000 });
  try {
    const [rows] = await connection.query({ sql, rowsAsArray: true, timeout: 30_000 });
    const first: unknown = Array.isArray(rows) ? rows[0] : undefined;
    return Array.isArray(first) ? first[0] : undefined;
  } finally {
    await connection.end();
  }
}

// For the installation and for every start: a small log, and no configuration of the machine's own server.
const STORAGE = ["--no-defaults", "--innodb-log-file-size=8M", "--skip-log-bin"];

/** Of its own: a server deletes the temporary tables of others in the same folder when it starts. */
function temporary(directory: string): string {
  return join(directory, "tmp");
}

export const mariadb: ServerKind = {
  name: "mariadb",
  title: "MariaDB",
  urlVariable: "MYSQL_URL",
  protocols: ["mysql:"],
  portVariable: "HALYARD_MARIADB_PORT",
  usualPort: 3306,
  packages: ["mariadb-server"],
  stopSignal: "SIGTERM",
  localUrls: (port) => [`mysql://root@127.0.0.1:${port}/`],
  async check(url) {
    return String(await queryOnce(url, "select version()")).replace(/-.*/, "");
  },
  missingPrograms: () =>
    ["mariadbd", "mariadb-install-db"].filter((program) => findProgram(program) === undefined),
  async prepare(directory) {
    const data = join(directory, "data");
    const user = serverUser("mysql");
    for (const folder of [data, temporary(directory)]) {
      mkdirSync(folder, { mode: 0o700 });
      if (user !== undefined) chownSync(folder, user.uid, user.gid);
    }
    await run({
      command: programPath("mariadb-install-db"),
      args: [
        ...STORAGE,
        `--datadir=${data}`,
        `--tmpdir=${temporary(directory)}`,
        "--auth-root-authentication-method=normal",
        "--skip-test-db",
      ],
      cwd: data,
      user,
    });
  },
  launch(directory, port) {
    const data = join(directory, "data");
    return {
      command: programPath("mariadbd"),
      args: [
        ...STORAGE,
        `--datadir=${data}`,
        `--tmpdir=${temporary(directory)}`,
        `--port=${port}`,
        "--bind-address=127.0.0.1",
        `--socket=${join(data, "s")}`,
        `--pid-file=${join(data, "pid")}`,
        "--skip-name-resolve",
        // Writes survive a crash of the server but not of the machine, which is enough for tests and much faster.
        "--innodb-flush-log-at-trx-commit=2",
      ],
      cwd: data,
      user: serverUser("mysql"),
    };
  },
};

/** Creates an empty database on the shared MariaDB server. */
export async function createMariadbDatabase(): Promise<TestDatabase> {
  const server = await runningUrl(mariadb);
  const name = uniqueName();
  await queryOnce(server, `create database ${name} character set utf8mb4`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    async drop() {
      await queryOnce(server, `drop database if exists ${name}`);
    },
  };
}
