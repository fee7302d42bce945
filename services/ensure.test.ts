import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { servers } from "./catalogue.ts";
import { freePort } from "./ports.ts";
import { processStart } from "./process-table.ts";
import { redis } from "./redis.ts";
import { findServer } from "./server.ts";
import type { Environment } from "./settings.ts";
import { ensureServer, stopServer } from "./shared-server.ts";

// Servers are set up, started and stopped here, which takes long on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

let env: Record<string, string> = {};

beforeEach(() => {
  env = { HALYARD_SERVICES_DIR: mkdtempSync(join(tmpdir(), "halyard-ensure-")) };
});

afterEach(async () => {
  for (const kind of Object.values(servers)) await stopServer(kind, env);
  rmSync(env["HALYARD_SERVICES_DIR"] ?? "", { recursive: true });
});

function processOf(provider: string): number {
  return Number(/process (\d+)/.exec(provider)?.[1]);
}

describe.each(Object.values(servers))("$title that is installed but stopped", (kind) => {
  test("is started on its port, found again, and stopped by down", async () => {
    const port = await freePort();
    env[kind.portVariable] = String(port);
    expect(await findServer(kind, env)).toBeUndefined();

    const started = await ensureServer(kind, env);
    expect(new URL(started.url).port).toBe(String(port));
    expect(await ensureServer(kind, env)).toEqual(started);
    expect(await findServer(kind, env)).toEqual(started);

    const pid = processOf(started.provider);
    expect(await stopServer(kind, env)).toBe(pid);
    expect(processStart(pid)).toBeUndefined();
    expect(await findServer(kind, env)).toBeUndefined();
  });
});

test("a server is started once when two callers request it at the same time", async () => {
  env["HALYARD_REDIS_PORT"] = String(await freePort());
  const [first, second] = await Promise.all([ensureServer(redis, env), ensureServer(redis, env)]);
  expect(first).toEqual(second);
});

test("a server uses a free port when another program has the usual one", async () => {
  const port = await freePort();
  const stranger = createServer((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
  await new Promise<void>((resolve) => stranger.listen(port, "127.0.0.1", resolve));
  env["HALYARD_REDIS_PORT"] = String(port);
  const { url } = await ensureServer(redis, env);
  expect(new URL(url).port).not.toBe(String(port));
  expect(await findServer(redis, env)).toMatchObject({ url });
  stranger.close();
});

test("a started server that died is started again", async () => {
  env["HALYARD_REDIS_PORT"] = String(await freePort());
  const first = processOf((await ensureServer(redis, env)).provider);
  process.kill(first, "SIGKILL");
  const second = processOf((await ensureServer(redis, env)).provider);
  expect(second).not.toBe(first);
});

test("down does not stop a server that up did not start", async () => {
  env["HALYARD_REDIS_PORT"] = String(await freePort());
  await ensureServer(redis, env);
  const other: Environment = {
    ...env,
    HALYARD_SERVICES_DIR: join(env["HALYARD_SERVICES_DIR"] ?? "", "other"),
  };
  expect(await findServer(redis, other)).toMatchObject({ provider: "was running" });
  expect(await stopServer(redis, other)).toBeUndefined();
  expect(await findServer(redis, env)).toBeDefined();
});

describe("an error with the remedy is thrown for", () => {
  test("a URL that does not respond, with HALYARD_SERVICES=external", async () => {
    env["HALYARD_SERVICES"] = "external";
    env["REDIS_URL"] = `redis://127.0.0.1:${await freePort()}`;
    const failure = ensureServer(redis, env);
    await expect(failure).rejects.toThrow("correct REDIS_URL");
    await expect(failure).rejects.toThrow("docker compose up -d redis");
    await expect(failure).rejects.toThrow("ECONNREFUSED");
  });

  test("a URL that does not respond, although a local server could be started", async () => {
    env["REDIS_URL"] = `redis://:secret@127.0.0.1:${await freePort()}`;
    const failure = ensureServer(redis, env);
    await expect(failure).rejects.toThrow("REDIS_URL");
    await expect(failure).rejects.not.toThrow("secret");
  });

  test("a stopped server with HALYARD_SERVICES=external", async () => {
    env["HALYARD_SERVICES"] = "external";
    env["HALYARD_REDIS_PORT"] = String(await freePort());
    const failure = ensureServer(redis, env);
    await expect(failure).rejects.toThrow("HALYARD_SERVICES is external");
    await expect(failure).rejects.toThrow("docker compose up -d redis");
    await expect(failure).rejects.toThrow("set REDIS_URL");
  });

  test("a URL of another kind of server", async () => {
    env["REDIS_URL"] = "postgres://127.0.0.1";
    await expect(ensureServer(redis, env)).rejects.toThrow("REDIS_URL must begin with redis://");
  });

  test("an invalid setting", async () => {
    env["HALYARD_REDIS_PORT"] = "none";
    await expect(ensureServer(redis, env)).rejects.toThrow('HALYARD_REDIS_PORT is "none"');
    env = { ...env, HALYARD_REDIS_PORT: String(await freePort()), HALYARD_SERVICES: "maybe" };
    await expect(ensureServer(redis, env)).rejects.toThrow('HALYARD_SERVICES is "maybe"');
  });
});
