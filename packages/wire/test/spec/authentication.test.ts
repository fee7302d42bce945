import { describe, expect, test, vi } from "vitest";
import { requireAuth } from "../../src/middleware/index.ts";
import { createTestServer } from "../../src/testing/index.ts";
import { errorsOf, outcomeOf, UUID_V7 } from "./frames.ts";
import { libraries } from "./libraries.ts";
import { SUBPROTOCOL, start } from "./network.ts";

interface Data {
  readonly clientId: string;
  readonly userId?: string | undefined;
  readonly role?: string;
  readonly expiresAt?: number;
}

describe.each(libraries)("guide/auth: `authenticate` ($name)", ({ createRouter, rpc, unknown }) => {
  const Who = rpc("WHO", undefined, "YOU", { data: unknown() });
  const whoAmI = () => createRouter<Data>().rpc(Who, (ctx) => ctx.reply(Who.response, { data: ctx.data }));

  test("authenticate receives a web Request with an absolute URL and no body, and returns the data", async () => {
    const requests: Request[] = [];
    const { connect, handle } = await start(whoAmI(), {
      authenticate: (request) => {
        requests.push(request);
        return { userId: request.headers.get("x-user") ?? "anonymous" };
      },
    });
    const peer = await connect({ path: "/chat?a=b", headers: { "x-user": "ada" } });
    expect(requests[0]).toBeInstanceOf(Request);
    expect(requests[0]?.url).toBe(`http://127.0.0.1:${handle.port}/chat?a=b`);
    expect(requests[0]?.body).toBeNull();
    expect((await peer.ask("WHO")).payload).toMatchObject({ data: { userId: "ada" } });
  });

  test("an onAuth that returns false closes the connection with 4401 over the network too", async () => {
    const { connect } = await start(whoAmI().onAuth((ctx) => ctx.data.userId !== undefined));
    const peer = await connect();
    peer.send({ type: "WHO", meta: { correlationId: "1" } });
    expect((await peer.closed).code).toBe(4401);
    expect(peer.frames.map((frame) => frame.type)).toEqual(["$ws:hello"]);
  });

  test("middleware can refuse unauthenticated messages with UNAUTHENTICATED, and the connection stays open", async () => {
    const router = createRouter<Data>()
      .use((ctx, next) => (ctx.data.userId === undefined ? ctx.error("UNAUTHENTICATED", "sign in") : next()))
      .rpc(Who, (ctx) => ctx.reply(Who.response, { data: ctx.data }));
    const server = createTestServer(router);
    const stranger = await server.connect();
    await stranger.send(Who, undefined, { correlationId: "1" });
    expect(outcomeOf(stranger, "1")).toBe("UNAUTHENTICATED");
    expect(stranger.closedWith).toBeUndefined();
    const known = await server.connect({ data: { userId: "ada" } });
    expect(await known.request(Who)).toMatchObject({ data: { userId: "ada" } });
  });

  test("requireAuth() requires data.userId, and requireAuth(predicate) uses the predicate, which may be asynchronous", async () => {
    const router = createRouter<Data>();
    router
      .route(Who)
      .use(requireAuth())
      .use(requireAuth(async (ctx) => ctx.data.role === "admin"))
      .rpc((ctx) => ctx.reply(Who.response, { data: ctx.data.role }));
    const server = createTestServer(router);
    const codes: string[] = [];
    for (const data of [{}, { userId: "ada" }, { userId: "ada", role: "admin" }]) {
      const peer = await server.connect({ data });
      await peer.send(Who, undefined, { correlationId: "1" });
      codes.push(outcomeOf(peer, "1"));
    }
    expect(codes).toEqual(["UNAUTHENTICATED", "UNAUTHENTICATED", "YOU"]);
  });

  test.each([
    ["undefined", () => undefined],
    ["a promise of undefined", async () => undefined],
    [
      "a throw",
      () => {
        throw new Error("secret reason");
      },
    ],
    [
      "a rejection",
      async () => {
        throw new Error("secret reason");
      },
    ],
  ])(
    "an authenticate that gives %s refuses with 4401 for halyard peers and with HTTP 401 for others",
    async (_how, authenticate) => {
      const opened: string[] = [];
      const router = whoAmI().onOpen(() => opened.push("router"));
      const { open } = await start(router, { authenticate, onOpen: () => opened.push("adapter") });
      const peer = open();
      const { code, reason } = await peer.closed;
      expect(code).toBe(4401);
      expect(reason).not.toContain("secret");
      expect(peer.frames).toEqual([]);
      const plain = open({ protocols: [] });
      expect(await plain.outcome).toBe(401);
      expect(JSON.stringify(plain.headers)).not.toContain("secret");
      expect(opened).toEqual([]);
    },
  );

  test("authenticate admits an anonymous visitor with {}, and without authenticate every visitor is admitted with only clientId", async () => {
    for (const options of [{ authenticate: () => ({}) }, {}]) {
      const { connect } = await start(whoAmI(), options);
      const { payload } = await (await connect()).ask("WHO");
      expect(payload).toEqual({ data: { clientId: expect.stringMatching(UUID_V7) } });
    }
  });

  test("the server ignores a clientId in the returned data", async () => {
    const { connect } = await start(whoAmI(), {
      authenticate: () => ({ userId: "ada", clientId: "mine" }),
    });
    const { payload } = await (await connect()).ask("WHO");
    expect(payload).toEqual({ data: { userId: "ada", clientId: expect.stringMatching(UUID_V7) } });
  });

  test.each([
    ["the part after bearer. in the offered protocols", { protocols: [SUBPROTOCOL, "bearer.abc"] }, "abc"],
    ["the query parameter access_token without such a protocol", { path: "/?access_token=xyz" }, "xyz"],
    [
      "the one from the protocol when the query has one too",
      { protocols: [SUBPROTOCOL, "bearer.abc"], path: "/?access_token=xyz" },
      "abc",
    ],
    ["undefined when there is neither", {}, undefined],
  ])("the token is %s", async (_what, openOptions, expected) => {
    const tokens: (string | undefined)[] = [];
    const { connect } = await start(whoAmI(), {
      authenticate: (_request, { token }) => {
        tokens.push(token);
        return {};
      },
    });
    const peer = await connect(openOptions);
    expect(tokens).toEqual([expected]);
    expect(peer.socket.protocol).toBe(SUBPROTOCOL);
  });

  test("the token option names another query parameter and protocol prefix", async () => {
    const tokens: (string | undefined)[] = [];
    const { connect } = await start(whoAmI(), {
      token: { queryParam: "ticket", protocolPrefix: "auth-" },
      authenticate: (_request, { token }) => {
        tokens.push(token);
        return {};
      },
    });
    await connect({ path: "/?ticket=t&access_token=no" });
    const peer = await connect({ protocols: ["auth-p", SUBPROTOCOL] });
    expect(tokens).toEqual(["t", "p"]);
    expect(peer.socket.protocol).toBe(SUBPROTOCOL);
  });

  test("hello and data carry expiresAt, and the server closes the connection with 4401 at that time", async () => {
    const server = createTestServer(whoAmI());
    const expiresAt = server.clock.wall() + 60_000;
    const peer = await server.connect({ data: { userId: "ada", expiresAt } });
    expect(peer.frames[0]?.payload).toMatchObject({ expiresAt });
    expect(await peer.request(Who)).toMatchObject({ data: { expiresAt } });
    await server.clock.advance(59_999);
    expect(peer.closedWith).toBeUndefined();
    await server.clock.advance(17);
    expect(peer.closedWith?.code).toBe(4401);
  });

  test("authenticate may return expiresAt beside the data", async () => {
    const expiresAt = Date.now() + 3_600_000;
    const { connect } = await start(whoAmI(), { authenticate: () => ({ userId: "ada", expiresAt }) });
    const peer = await connect();
    expect((await peer.frame("$ws:hello")).payload).toMatchObject({ expiresAt });
    expect((await peer.ask("WHO")).payload).toMatchObject({ data: { userId: "ada", expiresAt } });
  });

  test("$ws:auth without the refresh option is refused with UNIMPLEMENTED", async () => {
    const peer = await createTestServer(whoAmI()).connect();
    await peer.sendRaw('{"type":"$ws:auth","payload":{"token":"new"}}');
    expect(errorsOf(peer)).toMatchObject([{ code: "UNIMPLEMENTED" }]);
  });

  test("refresh(token, data) returns data, which the server merges, and an expiry, which it sends to the peer", async () => {
    const asked: unknown[] = [];
    const server = createTestServer(whoAmI(), {
      refresh: (token, data): object => {
        asked.push([token, data["userId"]]);
        return { role: "admin", expiresAt: server.clock.wall() + 120_000 };
      },
    });
    const peer = await server.connect({ data: { userId: "ada", expiresAt: server.clock.wall() + 60_000 } });
    await server.clock.advance(50_000);
    await peer.sendRaw('{"type":"$ws:auth","payload":{"token":"new"}}');
    expect(asked).toEqual([["new", "ada"]]);
    expect(peer.frames.at(-1)).toMatchObject({
      type: "$ws:auth",
      payload: { expiresAt: server.clock.wall() + 120_000 },
    });
    expect(await peer.request(Who)).toMatchObject({ data: { userId: "ada", role: "admin" } });
    await server.clock.advance(119_000);
    expect(peer.closedWith).toBeUndefined();
    await server.clock.advance(1_100);
    expect(peer.closedWith?.code).toBe(4401);
  });

  test("a refresh without expiresAt removes the expiry", async () => {
    const server = createTestServer(whoAmI(), { refresh: () => ({}) });
    const peer = await server.connect({ data: { expiresAt: server.clock.wall() + 60_000 } });
    await peer.sendRaw('{"type":"$ws:auth","payload":{"token":"new"}}');
    expect(peer.frames.at(-1)).toMatchObject({ type: "$ws:auth", payload: {} });
    expect(await peer.request(Who)).not.toHaveProperty("data.expiresAt");
    await server.clock.advance(3_600_000);
    expect(peer.closedWith).toBeUndefined();
  });

  test.each([
    ["undefined", () => undefined],
    [
      "a throw",
      () => {
        throw new Error("no");
      },
    ],
  ])("a refresh that gives %s closes the connection with 4401", async (_how, refresh) => {
    const server = createTestServer(whoAmI(), { refresh, onError: () => undefined });
    const peer = await server.connect();
    await peer.sendRaw('{"type":"$ws:auth","payload":{"token":"new"}}');
    expect(peer.closedWith?.code).toBe(4401);
  });

  test("the adapter's refresh works over the network", async () => {
    const { connect } = await start(whoAmI(), {
      authenticate: () => ({ userId: "ada" }),
      refresh: async (token, data) => (token === "good" ? { role: `${data.userId}'s` } : undefined),
    });
    const peer = await connect();
    peer.send({ type: "$ws:auth", payload: { token: "good" } });
    await peer.frame("$ws:auth");
    expect((await peer.ask("WHO")).payload).toMatchObject({ data: { userId: "ada", role: "ada's" } });
    peer.send({ type: "$ws:auth", payload: { token: "bad" } });
    expect((await peer.closed).code).toBe(4401);
  });
});

describe.each(libraries)("guide/router: Methods ($name)", ({ createRouter, rpc, unknown }) => {
  const Who = rpc("WHO", undefined, "YOU", { data: unknown() });
  const whoAmI = () => createRouter<Data>().rpc(Who, (ctx) => ctx.reply(Who.response, { data: ctx.data }));

  test("disconnect closes every connection that matches clientId, topic and data, on every server", async () => {
    const router = whoAmI().onOpen((ctx) => ctx.data.role === "guest" && ctx.subscribe("lobby"));
    const [here, there] = [createTestServer(router), createTestServer(router)];
    const ada = await here.connect({ data: { userId: "ada" } });
    const adaElsewhere = await there.connect({ data: { userId: "ada", role: "guest" } });
    const grace = await there.connect({ data: { userId: "grace", role: "guest" } });
    expect(await router.disconnect({ topic: "lobby", data: { userId: "ada" } })).toBe(1);
    expect(adaElsewhere.closedWith?.code).toBe(4403);
    expect(await router.disconnect({ data: { userId: "ada" } }, { code: 4401, reason: "signed out" })).toBe(
      1,
    );
    expect(ada.closedWith).toEqual({ code: 4401, reason: "signed out" });
    const { data } = (await grace.request(Who)) as { data: Data };
    expect(await router.disconnect({ clientId: data.clientId })).toBe(1);
    expect(grace.closedWith?.code).toBe(4403);
  });

  test("disconnect without anything to match rejects", async () => {
    await expect(whoAmI().disconnect({})).rejects.toThrow(/empty match/);
  });

  test("disconnect rejects values that other processes cannot match", async () => {
    for (const value of [true, null, {}, Number.NaN, Number.POSITIVE_INFINITY]) {
      const match = { data: { userId: value } } as never;
      await expect(whoAmI().disconnect(match)).rejects.toThrow(/strings and finite numbers/);
    }
  });

  test("disconnectLocal accepts a function", async () => {
    const router = whoAmI();
    const server = createTestServer(router);
    const [ada, grace] = [
      await server.connect({ data: { userId: "ada" } }),
      await server.connect({ data: { userId: "grace" } }),
    ];
    expect(router.disconnectLocal((ws) => ws.data.userId === "ada")).toBe(1);
    await vi.waitFor(() => expect(ada.closedWith?.code).toBe(4403));
    expect(grace.closedWith).toBeUndefined();
  });
});
