/** What `serve` and `createNodeHandler` say about mistakes in the setup. */
import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bunPath } from "@halyard/services";
import { describe, expect, onTestFinished, test } from "vitest";
import { serve } from "../src/adapters/node.ts";
import { createRouter } from "../src/index.ts";

const source = new URL("../src", import.meta.url).pathname;
const base = new URL("../../base", import.meta.url).pathname;

/** Runs the program until it ends; resolves to its output. */
function run(command: string, file: string): Promise<string> {
  return new Promise((resolve) => {
    execFile(command, ["--conditions=@halyard/source", file], (_error, stdout, stderr) =>
      resolve(stdout + stderr),
    );
  });
}

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "mistakes-"));
  onTestFinished(() => rm(path, { recursive: true }));
  return path;
}

/** A port that another server uses. */
async function takenPort(): Promise<number> {
  const other = createServer();
  onTestFinished(() => void other.close());
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  const address = other.address();
  if (address === null || typeof address === "string") throw new Error("The server has no port.");
  return address.port;
}

describe("a port that is in use", () => {
  test("is named with what to change; the error keeps its code", async () => {
    const port = await takenPort();
    await expect(serve(createRouter(), { port, host: "127.0.0.1" })).rejects.toMatchObject({
      message: `serve() cannot listen on port ${port} of host "127.0.0.1": another server uses it (EADDRINUSE). Stop that server, or set the serve option port; port 0 selects a free one.`,
      code: "EADDRINUSE",
      port,
    });
  });

  test("is named with what to change on Bun too", async () => {
    const port = await takenPort();
    const file = join(await folder(), "server.ts");
    await writeFile(
      file,
      `import { serve } from "${source}/adapters/bun.ts";
       import { createRouter } from "${source}/index.ts";
       await serve(createRouter(), { port: ${port}, host: "127.0.0.1" }).catch((error) => console.log(error.code, error.message));`,
    );
    expect(await run(bunPath(), file)).toContain(
      `EADDRINUSE serve() cannot listen on port ${port} of host "127.0.0.1": another server uses it`,
    );
  });
});

test("a host that this machine does not have is named with what to change", async () => {
  await expect(serve(createRouter(), { port: 0, host: "192.0.2.1" })).rejects.toThrow(
    /^serve\(\) cannot listen on port 0 of host "192\.0\.2\.1": this machine does not have that address/,
  );
});

describe("a missing package ws", () => {
  const message =
    'The package "ws" is not installed, but @halyard/wire/node uses it for WebSockets. Run: npm install ws';

  /** A copy of the sources in a folder without any package that wire does not bring. */
  async function withoutPackages(program: string): Promise<string> {
    const path = await folder();
    await mkdir(join(path, "node_modules/@halyard"), { recursive: true });
    await symlink(base, join(path, "node_modules/@halyard/base"));
    await cp(source, join(path, "src"), { recursive: true });
    const file = join(path, "server.mts");
    const imports = `import { createNodeHandler, serve } from "./src/adapters/node.ts"; import { createRouter } from "./src/index.ts";`;
    await writeFile(file, `${imports}\n${program}`);
    return await run(process.execPath, file);
  }

  test("makes serve() reject with the command to run", async () => {
    const output = await withoutPackages(
      "await serve(createRouter(), { port: 0 }).catch((error) => console.log(error.message));",
    );
    expect(output).toBe(`${message}\n`);
  });

  test("ends a program with createNodeHandler() with the command to run", async () => {
    const output = await withoutPackages(
      `createNodeHandler(createRouter(), { path: "/ws" }); setInterval(() => undefined, 1_000);`,
    );
    expect(output).toContain(`Error: ${message}`);
  });
});

test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY])(
  "a handshakeTimeoutMs of %s is refused with its name and value",
  async (handshakeTimeoutMs) => {
    await expect(serve(createRouter(), { port: 0, handshakeTimeoutMs })).rejects.toThrow(
      `The option handshakeTimeoutMs is ${handshakeTimeoutMs}, but it must be`,
    );
  },
);

test.each(["https://app.example.com", "app.example.com/ws", "", "a b"])(
  'an entry "%s" of allowedHosts is refused with its value',
  async (entry) => {
    await expect(serve(createRouter(), { port: 0, allowedHosts: [entry] })).rejects.toThrow(
      `The option allowedHosts contains "${entry}", but an entry must be a host`,
    );
  },
);
