/** Checks limits and hostile input: large sets, forged positions, invalid records, trusted attributes that are missing. */
import { createRouter } from "@halyard/wire";
import { wsClient } from "@halyard/wire/client";
import { serve } from "@halyard/wire/node";
import { describe, expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { GetDefinitions } from "../../src/live/definitions/protocol.ts";
import { flag, memoryHost, newKey } from "../memory-host.ts";
import { newAdmin, newApiKey, recordsIn, serveDefinitions, startRemote } from "./kit.ts";

describe("guide/flags-remote: Limits", () => {
  test("a large set arrives in pages of at most about 256 KiB", async () => {
    const host = await memoryHost({});
    const { id } = await host.auth.api.createFeatureFlag({
      body: flag({ enabled: true, type: "json", defaultValue: "x".repeat(30_000) }),
    });
    for (let count = 0; count < 20; count++) {
      const value = "y".repeat(30_000);
      await host.auth.api.createFeatureFlagOverride({ body: { flagId: id, userId: `user-${count}`, value } });
    }
    const { url } = await serveDefinitions(host.auth);
    const { key } = await newApiKey(host, { userId: (await newAdmin(host)).id });
    const remote = startRemote({ url, key });
    await remote.flags.ready;
    const pages = remote.frames.filter((frame) => frame.includes('"FLAG_DEFINITIONS"'));
    expect(pages.length).toBe(3);
    for (const page of pages) expect(page.length).toBeLessThan(300 * 1024);
    expect(recordsIn(remote.frames)).toHaveLength(21);
  });

  test("a set over maxBytes is refused, and the last one stays", async () => {
    const host = await memoryHost({});
    const name = newKey();
    await host.auth.api.createFeatureFlag({
      body: flag({ key: name, enabled: true, defaultValue: "small" }),
    });
    const { url } = await serveDefinitions(host.auth);
    const { key } = await newApiKey(host, { userId: (await newAdmin(host)).id });
    const remote = startRemote({ url, key, maxBytes: 2_000 });
    await remote.flags.ready;
    await host.auth.api.createFeatureFlag({ body: flag({ key: newKey(), defaultValue: "x".repeat(2_000) }) });
    await expect
      .poll(() => remote.errors)
      .toContainEqual(
        expect.stringContaining("The flag definitions have more than 2000 bytes, the limit (maxBytes)."),
      );
    expect(remote.flags.getValue(name)).toBe("small");
  });

  test("a forged position gets the whole set, and a page out of order is refused", async () => {
    const host = await memoryHost({});
    await host.auth.api.createFeatureFlag({ body: flag({}) });
    const { url } = await serveDefinitions(host.auth);
    const { key } = await newApiKey(host, { userId: (await newAdmin(host)).id });
    const client = wsClient({
      url,
      auth: { getToken: () => key, attach: "protocol" },
      wsFactory: (address, protocols) => new WebSocket(address, protocols),
    });
    onTestFinished(() => client.close());
    await client.connect();
    const read = (payload: { page: number; position?: string }) => client.request(GetDefinitions, payload);
    const { payload: whole } = await read({ page: 0 });
    for (const position of [
      "1-@",
      "0-@",
      "999999999-0123456789abcdef@",
      "",
      "@",
      "1-\u0000@",
      `${whole.position}x`,
    ]) {
      const { payload } = await read({ page: 0, position });
      expect([position, payload.isWhole, payload.records]).toEqual([position, true, whole.records]);
    }
    const { payload } = await read({ page: 0, position: whole.position });
    expect([payload.isWhole, payload.records, payload.position]).toEqual([false, [], whole.position]);
    for (const page of [1, 7])
      await expect(read({ page })).rejects.toMatchObject({ code: "FAILED_PRECONDITION" });
    await expect(read({ page: 0, position: "x".repeat(513) })).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
    });
  });

  test("records that are not valid leave the last set in place", async () => {
    const terms = { multiTenant: false, trusted: false };
    const definition = { key: "k", type: "string", enabled: true, defaultValue: "good", rules: [] };
    const record = (fields: object) => JSON.stringify(["f", "k", 0, "id", { ...definition, ...fields }]);
    const bad = [
      "not json",
      "[]",
      JSON.stringify(["x", "k"]),
      JSON.stringify(["f", "other", 0, "id", definition]),
      record({ type: "date" }),
      record({ enabled: "yes" }),
      record({ rolloutPercentage: 101 }),
      record({ variants: [{ key: "a", weight: 30, value: "v" }] }),
      record({
        rules: [
          { id: "r", enabled: true, conditions: { conditions: [{ segment: "gone" }] }, value: "v", salt: "" },
        ],
      }),
      record({
        rules: [
          {
            id: "r",
            enabled: true,
            conditions: { conditions: [{ attribute: "a", operator: "like", value: 1 }] },
            value: "v",
            salt: "",
          },
        ],
      }),
    ];
    let answer = [record({})];
    let revision = 1;
    const router = createRouter();
    router.rpc(GetDefinitions, () => ({
      position: `${revision++}`,
      isWhole: true,
      records: answer,
      hasMore: false,
      terms,
      stale: false,
    }));
    const handle = await serve(router, { port: 0, host: "127.0.0.1", handleSignals: false });
    onTestFinished(() => handle.stop());
    const remote = startRemote({ url: `ws://127.0.0.1:${handle.port}/`, key: "k" });
    await remote.flags.ready;
    for (const [at, text] of bad.entries()) {
      answer = [text];
      remote.cut();
      await expect
        .poll(() => remote.errors.filter((error) => error.includes("cannot be used")).length)
        .toBe(at + 1);
      expect([text, remote.flags.getValue("k")]).toEqual([text, "good"]);
    }
    answer = [record({ defaultValue: "newer" })];
    remote.cut();
    await expect.poll(() => remote.flags.getValue("k")).toBe("newer");
  });

  test("a caller cannot change the value of a flag for the next caller", async () => {
    const host = await memoryHost({});
    await host.auth.api.createFeatureFlag({
      body: flag({ enabled: true, type: "json", defaultValue: { limits: { seats: 3 } } }),
    });
    const { url } = await serveDefinitions(host.auth);
    const { key } = await newApiKey(host, { userId: (await newAdmin(host)).id });
    const { flags } = startRemote({ url, key });
    await flags.ready;
    const value = flags.getValue("k") as { limits: { seats: number } };
    expect(() => {
      value.limits.seats = 4;
    }).toThrow(TypeError);
    expect(flags.getValue("k")).toEqual({ limits: { seats: 3 } });
  });

  test("reads before there are definitions use the declared default", async () => {
    const remote = startRemote({
      url: "ws://127.0.0.1:9/",
      key: "k",
      flags: { known: { type: "boolean", default: true } },
      readyTimeoutMs: 50,
    });
    await expect(remote.flags.ready).rejects.toMatchObject({ code: "DEADLINE_EXCEEDED" });
    expect([remote.flags.isEnabled("known"), remote.flags.isEnabled("other"), remote.flags.staleMs]).toEqual([
      true,
      false,
      undefined,
    ]);
  });
});
