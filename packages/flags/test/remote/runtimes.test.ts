/** Checks remote flags in processes of their own on Node and Bun, with the WebSocket of the runtime. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { bunPath } from "@halyard/services";
import { describe, expect, onTestFinished, test } from "vitest";
import { flag, memoryHost } from "../memory-host.ts";
import { newAdmin, newApiKey, newFile, serveDefinitions } from "./kit.ts";

const program = new URL("../fixtures/remote-program.ts", import.meta.url).pathname;

function start(runtime: string, ...args: string[]) {
  const child = spawn(runtime, ["--conditions=@halyard/source", program, ...args]);
  onTestFinished(() => void child.kill("SIGKILL"));
  child.stderr.pipe(process.stderr);
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const line = async () => JSON.parse((await lines.next()).value ?? "null");
  return {
    line,
    async stop() {
      child.kill();
      const [code] = await once(child, "exit");
      return code;
    },
  };
}

describe.each([
  ["Node", process.execPath],
  ["Bun", bunPath()],
])("guide/flags-remote: On %s", (_name, runtime) => {
  test("a process gets flags and changes, and starts from its file without the server", async () => {
    const host = await memoryHost({});
    const { id } = await host.auth.api.createFeatureFlag({
      body: flag({ enabled: true, defaultValue: "first" }),
    });
    const server = await serveDefinitions(host.auth);
    const { key } = await newApiKey(host, { userId: (await newAdmin(host)).id });
    const file = newFile();
    const first = start(runtime, server.url, key, file);
    expect(await first.line()).toEqual(["live", "first"]);
    await host.auth.api.updateFeatureFlag({ body: { id, defaultValue: "second" } });
    expect(await first.line()).toEqual(["live", "second"]);
    expect(await first.stop()).toBe(0);
    await server.stop();
    const second = start(runtime, server.url, key, file);
    expect(await second.line()).toEqual({ error: "UNAVAILABLE" });
    let started = await second.line();
    // A slow process reports further attempts before it has read the file.
    while ("error" in started) started = await second.line();
    expect(started).toEqual(["stale", "second"]);
    expect(await second.stop()).toBe(0);
  });
});
