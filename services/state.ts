// One record per server that `up` started, so that tests find its URL and `down` stops exactly that process.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { processStart } from "./process-table.ts";
import { type Environment, servicesDirectory } from "./settings.ts";
import { waitFor } from "./wait.ts";

export interface StartedServer {
  readonly url: string;
  readonly pid: number;
  readonly startedAt: string;
}

function recordPath(name: string, env: Environment): string {
  return join(servicesDirectory(env), `${name}.json`);
}

function isRecord(value: unknown): value is StartedServer {
  if (typeof value !== "object" || value === null) return false;
  const record: Partial<Record<keyof StartedServer, unknown>> = value;
  return (
    typeof record.url === "string" && typeof record.pid === "number" && typeof record.startedAt === "string"
  );
}

/** The record of a server that `up` started and that still runs. */
export function startedServer(name: string, env: Environment): StartedServer | undefined {
  let text: string;
  try {
    text = readFileSync(recordPath(name, env), "utf8");
  } catch {
    return undefined;
  }
  const record: unknown = JSON.parse(text);
  return isRecord(record) && processStart(record.pid) === record.startedAt ? record : undefined;
}

export function rememberServer(name: string, record: StartedServer, env: Environment): void {
  writeFileSync(recordPath(name, env), `${JSON.stringify(record)}\n`);
}

export function forgetServer(name: string, env: Environment): void {
  rmSync(recordPath(name, env), { force: true });
}

/** Runs `work` while no other process starts, installs or stops services. */
export async function exclusively<T>(env: Environment, work: () => Promise<T>): Promise<T> {
  const lock = join(servicesDirectory(env), "lock");
  const owner = join(lock, "owner");
  await waitFor(
    async () => {
      try {
        mkdirSync(lock);
      } catch (cause) {
        const holder = readHolder(owner);
        // Its holder was killed, and the next attempt takes the lock.
        if (holder !== undefined && processStart(holder) === undefined) {
          rmSync(lock, { recursive: true, force: true });
        }
        throw new Error(
          `${lock} is held by process ${holder ?? "?"}. Remove the file if that process has ended.`,
          { cause },
        );
      }
    },
    { what: "another process that starts or stops services", timeoutMs: 300_000 },
  );
  writeFileSync(owner, String(process.pid));
  try {
    return await work();
  } finally {
    rmSync(lock, { recursive: true, force: true });
  }
}

function readHolder(owner: string): number | undefined {
  try {
    return Number(readFileSync(owner, "utf8")) || undefined;
  } catch {
    return undefined;
  }
}
