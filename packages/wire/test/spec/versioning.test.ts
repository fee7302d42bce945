import { describe, expect, test } from "vitest";
import { createTestServer } from "../../src/testing/index.ts";
import { libraries } from "./libraries.ts";

describe.each(libraries)("guide/schemas: Forms ($name)", ({ createRouter, message, rpc, number }) => {
  test("a router accepts schemas of rpc() and of the config form together", async () => {
    const Legacy = rpc("LEGACY", { n: number() }, "LEGACY_DONE", { n: number() });
    const Preferred = message("PREFERRED", { payload: { n: number() }, response: { n: number() } });
    const router = createRouter()
      .rpc(Legacy, (ctx) => ctx.reply(Legacy.response, ctx.payload))
      .rpc(Preferred, (ctx) => ctx.reply(Preferred.response, ctx.payload));
    const peer = await createTestServer(router).connect();
    expect(await peer.request(Legacy, { n: 1 })).toEqual({ n: 1 });
    expect(await peer.request(Preferred, { n: 2 })).toEqual({ n: 2 });
  });
});

describe.each(libraries)("protocol: Handshake ($name)", ({ createRouter }) => {
  test("hello announces the version of the wire protocol", async () => {
    const peer = await createTestServer(createRouter()).connect();
    expect(peer.frames[0]).toMatchObject({ type: "$ws:hello", payload: { v: 1 } });
  });
});
