import { describe, expect, test } from "vitest";
import { createTestServer } from "../../src/testing/index.ts";
import { UUID_V7 } from "./frames.ts";
import { libraries } from "./libraries.ts";

interface Data {
  readonly clientId: string;
  readonly name?: string;
  readonly prefs?: { readonly theme?: string; readonly size?: number };
}

describe.each(libraries)("guide/router: Connection data ($name)", ({ createRouter, message }) => {
  const Go = message("GO");

  test("every connection has its own clientId, a UUID v7, without configuration", async () => {
    const ids: string[] = [];
    const server = createTestServer(createRouter().onOpen((ctx) => ids.push(ctx.data.clientId)));
    await server.connect();
    await server.connect();
    expect(new Set(ids).size).toBe(2);
    for (const id of ids) expect(id).toMatch(UUID_V7);
  });

  test("data holds the application's fields beside clientId", async () => {
    const seen: Data[] = [];
    const server = createTestServer(createRouter<Data>().on(Go, (ctx) => seen.push({ ...ctx.data })));
    const peer = await server.connect({ data: { name: "Ada" } });
    await peer.send(Go);
    expect(seen).toEqual([{ clientId: expect.stringMatching(UUID_V7), name: "Ada" }]);
  });

  test("assignData merges shallowly: it replaces the given fields and keeps the others", async () => {
    const seen: Data[] = [];
    const router = createRouter<Data>().on(Go, (ctx) => {
      ctx.assignData({ prefs: { size: 12 } });
      seen.push({ ...ctx.data });
    });
    const peer = await createTestServer(router).connect({ data: { name: "Ada", prefs: { theme: "dark" } } });
    await peer.send(Go);
    expect(seen[0]).toMatchObject({ name: "Ada", prefs: { size: 12 } });
    expect(seen[0]?.prefs).not.toHaveProperty("theme");
  });

  test("a later message of the same connection reads the assigned data, and other connections do not", async () => {
    const names: (string | undefined)[] = [];
    const router = createRouter<Data>().on(Go, (ctx) => {
      names.push(ctx.getData("name"));
      ctx.assignData({ name: "Grace" });
    });
    const server = createTestServer(router);
    const [one, other] = [await server.connect(), await server.connect()];
    await one.send(Go);
    await one.send(Go);
    await other.send(Go);
    expect(names).toEqual([undefined, "Grace", undefined]);
  });

  test("getData(key) returns one field, or undefined when it is not set", async () => {
    const seen: unknown[] = [];
    const router = createRouter<Data>().on(Go, (ctx) => {
      seen.push(ctx.getData("name"), ctx.getData("prefs"), ctx.getData("clientId") === ctx.data.clientId);
    });
    const peer = await createTestServer(router).connect({ data: { name: "Ada" } });
    await peer.send(Go);
    expect(seen).toEqual(["Ada", undefined, true]);
  });

  test("assignData never changes clientId", async () => {
    const router = createRouter<Data>().on(Go, (ctx) => {
      const before = ctx.data.clientId;
      ctx.assignData({ clientId: "mine" });
      expect(ctx.data.clientId).toBe(before);
    });
    const peer = await createTestServer(router).connect();
    await peer.send(Go);
    expect(peer.frames.map((frame) => frame.type)).toEqual(["$ws:hello"]);
  });
});
