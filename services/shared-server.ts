// The life of a shared server: found, otherwise started, otherwise installed and started. `down` stops it only if `up` started it.
import { spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { installPackages } from "./apt.ts";
import { freePort, portIsFree } from "./ports.ts";
import { processStart } from "./process-table.ts";
import { findServer, ownUrl, type Provision, type ServerKind, ServiceError, unavailable } from "./server.ts";
import { type Environment, localPort, mayProvide, servicesDirectory } from "./settings.ts";
import { exclusively, forgetServer, rememberServer, startedServer } from "./state.ts";
import { waitFor } from "./wait.ts";

const START_TIMEOUT_MS = 30_000;
const STOP_TIMEOUT_MS = 10_000;

/** The shared server. It runs when this resolves. */
export async function ensureServer(kind: ServerKind, env: Environment): Promise<Provision> {
  const tried: string[] = [];
  const found = await findServer(kind, env, tried);
  if (found !== undefined) return found;
  if (!mayProvide(env)) {
    const forbidden = "nothing more, because HALYARD_SERVICES is external";
    throw unavailable(kind, [...tried, forbidden], { suggestUp: false });
  }
  return exclusively(env, async () => {
    // Another process may have started it in the meantime.
    const startedByOther = await findServer(kind, env);
    if (startedByOther !== undefined) return startedByOther;
    const missing = kind.missingPrograms();
    if (missing.length === 0) return start(kind, env);

    tried.push(`programs on this machine (not installed: ${missing.join(", ")})`);
    const refusal = await installPackages(kind.packages);
    if (refusal !== undefined) {
      throw unavailable(kind, [...tried, `installing it (${refusal})`], { suggestUp: false });
    }
    // On a machine with a service manager the package may have started its server.
    return (await findServer(kind, env)) ?? start(kind, env);
  });
}

async function start(kind: ServerKind, env: Environment): Promise<Provision> {
  await stopProcess(kind, env);
  const directory = join(servicesDirectory(env), kind.name);
  mkdirSync(directory, { mode: 0o711 });
  const wanted = localPort(env, kind.portVariable, kind.usualPort);
  const port = (await portIsFree(wanted)) ? wanted : await freePort();
  const url = ownUrl(kind, port);
  await kind.prepare(directory);

  const log = join(directory, "log");
  const fd = openSync(log, "a");
  const { command, args, cwd, user } = kind.launch(directory, port);
  const child = spawn(command, args, {
    cwd: cwd ?? directory,
    ...user,
    stdio: ["ignore", fd, fd],
    // It survives this process and Ctrl-C.
    detached: true,
  });
  closeSync(fd);
  let ending: string | undefined;
  child.once("error", (error) => {
    ending = error.message;
  });
  child.once("exit", (code, signal) => {
    ending = `it ended with ${signal ?? `code ${code}`}`;
  });
  child.unref();
  try {
    const version = await waitFor(() => kind.check(url), {
      what: `${kind.title} to answer at ${url}`,
      timeoutMs: START_TIMEOUT_MS,
      hopeless: () => ending,
    });
    const { pid = 0 } = child;
    rememberServer(kind.name, { url, pid, startedAt: processStart(pid) ?? "" }, env);
    return { url, version, provider: `started by "services up" as process ${pid}` };
  } catch (cause) {
    child.kill("SIGKILL");
    const said = readFileSync(log, "utf8").slice(-2000);
    throw new ServiceError(
      `${kind.title} did not start (${cause instanceof Error ? cause.message : cause}).\n` +
        `Remedy: see its log, which ends as follows, or "docker compose up -d ${kind.name}", or set ` +
        `${kind.urlVariable}.\n${said}`,
      { cause },
    );
  }
}

/** Stops the server if `up` started it, and removes its data. Resolves to its process id, if there was one. */
export function stopServer(kind: ServerKind, env: Environment): Promise<number | undefined> {
  return exclusively(env, () => stopProcess(kind, env));
}

async function stopProcess(kind: ServerKind, env: Environment): Promise<number | undefined> {
  const record = startedServer(kind.name, env);
  if (record !== undefined) {
    const gone = async () => {
      if (processStart(record.pid) === record.startedAt) throw new Error(`process ${record.pid} still runs`);
    };
    process.kill(record.pid, kind.stopSignal);
    try {
      await waitFor(gone, { what: `${kind.title} to stop`, timeoutMs: STOP_TIMEOUT_MS });
    } catch {
      process.kill(record.pid, "SIGKILL");
      await waitFor(gone, { what: `${kind.title} to die`, timeoutMs: STOP_TIMEOUT_MS });
    }
  }
  rmSync(join(servicesDirectory(env), kind.name), { recursive: true, force: true });
  forgetServer(kind.name, env);
  return record?.pid;
}
