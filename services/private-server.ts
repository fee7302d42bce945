// A server for one test alone, on its own port and in its own directory. The test may kill and restart it.
import { closeSync, openSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type Child, type Launch, spawnChild } from "./child.ts";
import { mariadb } from "./mariadb.ts";
import { nats } from "./nats.ts";
import { freePort } from "./ports.ts";
import { postgres, postgresIn } from "./postgres.ts";
import { redis } from "./redis.ts";
import { ownUrl, type ServerKind, unavailable } from "./server.ts";
import { waitFor } from "./wait.ts";
import { ownedDirectory } from "./watchdog.ts";

export interface PrivateServer {
  readonly url: string;
  readonly port: number;
  /** The process id. It changes with `restart`. */
  readonly pid: number;
  /** Stops it gracefully and removes its data. */
  stop(): Promise<void>;
  /** Sends SIGKILL to the server and all its processes. Its data stays for `restart`. */
  kill(): Promise<void>;
  /** Sends SIGSTOP: connections stay open without responses. */
  pause(): void;
  /** Sends SIGCONT: the opposite of `pause`. */
  resume(): void;
  /** Starts it again on the same port with the same data. A running server is stopped gracefully first. */
  restart(): Promise<void>;
}

const START_TIMEOUT_MS = 30_000;
const LOG_CHARACTERS = 2000;

export async function startPrivate(
  kind: ServerKind,
  adjust: (launch: Launch) => Launch = (launch) => launch,
): Promise<PrivateServer> {
  const missing = kind.missingPrograms();
  if (missing.length > 0) {
    const tried = [`programs on this machine (not installed: ${missing.join(", ")})`];
    throw unavailable(kind, tried, { suggestUp: true });
  }
  const directory = ownedDirectory(kind.name);
  const port = await freePort();
  const url = ownUrl(kind, port);
  await kind.prepare(directory);

  async function start(): Promise<Child> {
    const log = join(directory, "log");
    const fd = openSync(log, "a");
    const child = await spawnChild(adjust(kind.launch(directory, port)), ["ignore", fd, fd]).finally(() =>
      closeSync(fd),
    );
    try {
      await waitFor(() => kind.check(url), {
        what: `${kind.title} to answer at ${url}`,
        timeoutMs: START_TIMEOUT_MS,
        hopeless: () => (child.running ? undefined : "it ended"),
      });
      return child;
    } catch (cause) {
      await child.kill();
      const logEnd = readFileSync(log, "utf8").slice(-LOG_CHARACTERS);
      throw new Error(`${kind.title} did not start on port ${port}. Its log ends with:\n${logEnd}`, {
        cause,
      });
    }
  }

  let child = await start();
  return {
    url,
    port,
    get pid() {
      return child.pid;
    },
    async stop() {
      await child.stop(kind.stopSignal);
      rmSync(directory, { recursive: true, force: true });
    },
    kill: () => child.kill(),
    pause: () => child.pause(),
    resume: () => child.resume(),
    async restart() {
      await child.stop(kind.stopSignal);
      child = await start();
    },
  };
}

/**
 * A private PostgreSQL server. Its URL names the user and the database `postgres`. `directory` has its programs, if it is
 * another version than usual.
 */
export function startPostgres(directory?: string): Promise<PrivateServer> {
  return startPrivate(directory === undefined ? postgres : postgresIn(directory));
}

/** A private MariaDB server. Its URL names the user `root` and no database. */
export function startMariadb(): Promise<PrivateServer> {
  return startPrivate(mariadb);
}

/** A private Redis server, which keeps its data over `restart` unless the settings say otherwise. */
export function startRedis(settings: Readonly<Record<string, string>> = {}): Promise<PrivateServer> {
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  return startPrivate(redis, (launch) => ({ ...launch, args: [...launch.args, ...args] }));
}

/** A private NATS server with JetStream. */
export function startNats(): Promise<PrivateServer> {
  return startPrivate(nats);
}
