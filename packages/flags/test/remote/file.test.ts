/** Checks the file with the last definitions: a start without the server, and every file that must be refused. */
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmdirSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import type { Host } from "../host.ts";
import { flag, memoryHost } from "../memory-host.ts";
import {
  type DefinitionsServer,
  newAdmin,
  newApiKey,
  newFile,
  serveDefinitions,
  startRemote,
} from "./kit.ts";

describe("guide/flags-remote: The file", () => {
  let host: Host;
  let server: DefinitionsServer;
  let key: string;
  let file: string;

  beforeEach(async () => {
    host = await memoryHost({});
    const { id } = await host.auth.api.createFeatureFlag({
      body: flag({ enabled: true, defaultValue: "stored" }),
    });
    await host.auth.api.createFeatureFlagOverride({ body: { flagId: id, userId: "ada", value: "ada's" } });
    server = await serveDefinitions(host.auth);
    key = (await newApiKey(host, { userId: (await newAdmin(host)).id })).key;
    file = newFile();
    const writer = startRemote({ url: server.url, key, file });
    await writer.flags.ready;
    await writer.flags.close();
  });

  test("a start without the server uses it, says how old it is, and becomes live with the server", async () => {
    const { url, port } = server;
    await server.stop();
    const remote = startRemote({ url, key, file });
    await remote.flags.ready;
    expect(remote.flags.state).toBe("stale");
    expect(remote.flags.staleMs).toBeGreaterThan(0);
    expect(remote.flags.staleMs).toBeLessThan(60_000);
    expect(remote.flags.getValue("k")).toBe("stored");
    expect(remote.flags.getValue("k", { context: { userId: "ada" } })).toBe("ada's");
    await host.auth.api.updateFeatureFlag({ body: { id: "key:k", defaultValue: "changed" } });
    await serveDefinitions(host.auth, port);
    await expect.poll(() => remote.flags.state).toBe("live");
    expect([remote.flags.staleMs, remote.flags.getValue("k")]).toEqual([0, "changed"]);
  });

  test("it is readable by its owner only, and no temporary file is left", () => {
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(dirname(file))).toEqual(["flags"]);
    expect(readFileSync(file, "utf8")).not.toContain(key);
  });

  /** Starts without a server, so that only the file could make it ready. */
  async function expectRefused(
    reason: string,
    options: { key?: string; environment?: string; maxBytes?: number } = {},
  ) {
    await server.stop();
    const remote = startRemote({ url: server.url, key, file, readyTimeoutMs: 300, ...options });
    await expect(remote.flags.ready).rejects.toMatchObject({ code: "DEADLINE_EXCEEDED" });
    await expect.poll(() => remote.errors).toContainEqual(expect.stringContaining(reason));
    expect([remote.flags.state, remote.flags.staleMs]).toEqual(["connecting", undefined]);
    expect(remote.flags.getValue("k", {}, "default")).toBe("default");
  }

  const CHANGED = "it was changed or cut off, or it belongs to another API key";

  test("a file with another value is refused", async () => {
    writeFileSync(file, readFileSync(file, "utf8").replace("stored", "forged"));
    await expectRefused(CHANGED);
  });

  test("a file that was cut off is refused", async () => {
    writeFileSync(file, readFileSync(file).subarray(0, -10));
    await expectRefused(CHANGED);
  });

  test("a file that claims a newer confirmation is refused", async () => {
    writeFileSync(file, readFileSync(file, "utf8").replace(/"confirmedAtMs":\d/, '"confirmedAtMs":9'));
    await expectRefused(CHANGED);
  });

  test("a file of another key is refused", async () => {
    await expectRefused(CHANGED, { key: "another-key" });
  });

  test("a file of another environment is refused", async () => {
    await expectRefused("it was written for another url, organizationId or environment", {
      environment: "staging",
    });
  });

  test("a file over the limit is refused before it is read", async () => {
    writeFileSync(file, Buffer.alloc(20_000));
    await expectRefused("it has 20000 bytes, more than the limit (maxBytes)", { maxBytes: 10_000 });
  });

  test("a file of another format, an empty one and a folder are refused", async () => {
    const remotes = ["halyard-flags-9 00\n", "", undefined].map((text) => {
      const path = newFile();
      if (text === undefined) mkdirSync(path);
      else writeFileSync(path, text);
      return startRemote({ url: server.url, key, file: path });
    });
    for (const { flags, errors } of remotes) {
      await flags.ready;
      await expect
        .poll(() => errors)
        .toContainEqual(expect.stringMatching(/is not used .*: (?:it is not a file|EISDIR)/));
    }
  });

  test("a file that cannot be written is reported, and the flags stay live", async () => {
    const path = newFile();
    chmodSync(dirname(path), 0o500);
    mkdirSync(`${dirname(file)}/blocked`);
    const remote = startRemote({ url: server.url, key, file: `${dirname(file)}/blocked` });
    await remote.flags.ready;
    await remote.flags.close();
    expect(remote.errors).toContainEqual(expect.stringContaining("could not be written"));
    chmodSync(dirname(path), 0o700);
  });

  test("a file that could not be written is written again with the next change, or at the end", async () => {
    const path = newFile();
    mkdirSync(path);
    const remote = startRemote({ url: server.url, key, file: path });
    await remote.flags.ready;
    await expect
      .poll(() => remote.errors, { timeout: 5_000 })
      .toContainEqual(expect.stringContaining("could not be written"));
    rmdirSync(path);
    await remote.flags.close();
    expect(readFileSync(path, "utf8")).toContain("stored");
  });

  test("a key that the server refuses does not start from the file", async () => {
    const where = [{ field: "permissions", operator: "contains" as const, value: "evaluate-as" }];
    await host.adapter.updateMany({ model: "apikey", where, update: { enabled: false } });
    const remote = startRemote({ url: server.url, key, file });
    await expect(remote.flags.ready).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
    expect([remote.flags.state, remote.flags.getValue("k", {}, "default")]).toEqual(["closed", "default"]);
  });
});
