/** Connections that follow the session of a real Better Auth instance, on Node. */

import { createRedisPrefix } from "@halyard/services";
import { forgetCaller } from "@halyard/sessions";
import {
  type BetterAuthSessionOptions,
  betterAuthSession,
  type SessionData,
} from "@halyard/wire/better-auth";
import { joinChannel, wsClient } from "@halyard/wire/client";
import { serve } from "@halyard/wire/node";
import { redisPubSub } from "@halyard/wire/redis";
import { channel, createRouter, message, rpc, z } from "@halyard/wire/zod";
import { createClient } from "redis";
import { expect, onTestFinished, test, vi } from "vitest";
import { WebSocket } from "ws";
import { sessionsOf } from "../../sessions/src/identify/sessions.ts";
import { createStore, type Host, type Person, type Store, startAuth } from "../../sessions/test/host.ts";
import type { PubSub } from "../src/pubsub/pubsub.ts";

const Who = rpc("WHO", undefined, "WHO_IS", { json: z.string() });
const Join = rpc("JOIN", { topic: z.string() }, "JOINED", {});
const News = message("NEWS", { text: z.string() });
/** Ends a test that hangs. Without the comparison, nothing but the announced change can be what is found. */
const SOON = { timeout: 20_000, interval: 10 };

interface WorldOptions {
  readonly store?: Store;
  readonly host?: Host;
  readonly pubsub?: PubSub;
  readonly session?: BetterAuthSessionOptions<{ plan?: string }>;
  readonly authorizeTopic?: (data: SessionData, topic: string) => boolean | Promise<boolean>;
}

async function startWorld({ store, host, pubsub, session, authorizeTopic }: WorldOptions = {}) {
  const sharedStore = store ?? (await createStore({ database: "sqlite", storage: false }));
  const app = host ?? (await startAuth(sharedStore));
  const errors: unknown[] = [];
  const router = createRouter<SessionData & { plan?: string }>({
    ...(pubsub && { pubsub }),
    ...(authorizeTopic && { authorizeTopic: (ctx, topic) => authorizeTopic(ctx.data, topic) }),
  })
    .rpc(Who, (ctx) => ({ json: JSON.stringify(ctx.data) }))
    .rpc(Join, async (ctx) => {
      await ctx.subscribe(ctx.payload.topic);
      ctx.reply(Join.response, {});
    });
  const server = await serve(router, {
    port: 0,
    host: "127.0.0.1",
    handleSignals: false,
    authenticate: betterAuthSession(app.auth, session),
    onError: (error) => errors.push(error),
  });
  onTestFinished(() => server.stop());
  const origin = `http://127.0.0.1:${server.port}`;

  function open(headers: Record<string, string>, query = "") {
    const client = wsClient({
      url: `ws://127.0.0.1:${server.port}/${query}`,
      reconnect: { initialDelayMs: 10, maxDelayMs: 50 },
      wsFactory: (url, protocols) => new WebSocket(url, protocols, { headers, origin }),
    });
    client.onError(() => {});
    onTestFinished(() => client.close());
    const news: string[] = [];
    const lost: (number | undefined)[] = [];
    client.on(News, ({ text }) => news.push(text));
    client.onSessionLost((info) => lost.push(info?.closeCode));
    return { client, news, lost };
  }
  return {
    app,
    store: sharedStore,
    router,
    errors,
    open,
    async connect(person: Pick<Person, "cookie">) {
      const opened = open({ cookie: person.cookie });
      await opened.client.connect();
      (await sessionsOf(app.auth)).reconciliation.stop();
      return {
        ...opened,
        who: async () => JSON.parse((await opened.client.request(Who)).payload.json),
        join: (topic: string) => opened.client.request(Join, { topic }),
      };
    },
  };
}

test("a sign-out closes every connection of the session with 4401, and no other", async () => {
  const world = await startWorld();
  const ann = await world.app.person("ann");
  const bob = await world.app.person("bob");
  const [one, two] = [await world.connect(ann), await world.connect(ann)];
  const [phone, other] = [await world.connect(await world.app.again(ann)), await world.connect(bob)];
  await world.app.call("/sign-out", { as: ann });
  await vi.waitFor(() => expect([one.lost, two.lost]).toEqual([[4401], [4401]]), SOON);
  expect([one.client.state, one.client.session]).toEqual(["closed", "lost"]);
  expect([(await phone.who()).userId, (await other.who()).userId]).toEqual([ann.id, bob.id]);
});

test("after signing in again, the same client connects without a page reload", async () => {
  const world = await startWorld();
  const ann = await world.app.person("ann");
  const headers = { cookie: ann.cookie };
  const { client, lost } = world.open(headers);
  expect(client.session).toBe("unknown");
  await client.connect();
  expect(client.session).toBe("active");
  await world.app.call("/sign-out", { as: ann });
  await vi.waitFor(() => expect(lost).toEqual([4401]), SOON);
  // As a browser would, after the page has signed in.
  headers.cookie = (await world.app.again(ann)).cookie;
  await client.connect();
  expect([client.session, client.isConnected]).toEqual(["active", true]);
});

test("connections that open while their session ends do not stay open", async () => {
  const world = await startWorld();
  const ann = await world.app.person("ann");
  const connecting = Array.from({ length: 10 }, () => world.open({ cookie: ann.cookie }));
  const attempts = connecting.map(({ client }) => client.connect().catch(() => undefined));
  await world.app.call("/sign-out", { as: ann });
  await Promise.all(attempts);
  await vi.waitFor(
    () => expect(connecting.map(({ client }) => client.session)).toEqual(Array(10).fill("lost")),
    SOON,
  );
});

test("an organization switch replaces ctx.data, ends refused topics, then runs onSessionChange", async () => {
  const changes: unknown[] = [];
  const world = await startWorld({
    authorizeTopic: (data, topic) => topic === `org:${data.organizationId}`,
    session: {
      data: ({ organizationId }) => ({ plan: `plan of ${organizationId}` }),
      onSessionChange: (ctx, { changed }) => changes.push([ctx.data.plan, ctx.topics.list(), changed]),
    },
  });
  const { app } = world;
  const ann = await app.person("ann");
  const create = async (slug: string): Promise<string> =>
    (await app.call("/organization/create", { as: ann, body: { name: slug, slug } })).json.id;
  const [alpha, beta] = [await create("alpha"), await create("beta")];
  await app.call("/organization/set-active", { as: ann, body: { organizationId: alpha } });
  const tab = await world.connect(ann);
  await tab.join(`org:${alpha}`);
  await app.call("/organization/set-active", { as: ann, body: { organizationId: beta } });
  await vi.waitFor(() => expect(changes).toEqual([[`plan of ${beta}`, [], ["organizationId"]]]), SOON);
  expect(await tab.who()).toMatchObject({
    organizationId: beta,
    organizationRole: "owner",
    plan: `plan of ${beta}`,
  });
  await world.router.publish(`org:${alpha}`, News, { text: "canary" });
  await tab.join(`org:${beta}`);
  expect([tab.news, tab.client.state]).toEqual([[], "open"]);
});

test("a subscription that was being authorized when the session changed is authorized again", async () => {
  const verdicts: ((allowed: boolean) => void)[] = [];
  const world = await startWorld({
    authorizeTopic: () => new Promise((resolve) => verdicts.push(resolve)),
  });
  const { app } = world;
  const [root, ann] = [await app.administrator(), await app.person("ann")];
  const tab = await world.connect(ann);
  const joining = tab.join("staff");
  await vi.waitFor(() => expect(verdicts).toHaveLength(1), SOON);
  await app.call("/admin/set-role", { as: root, body: { userId: ann.id, role: "admin" } });
  await vi.waitFor(async () => expect((await tab.who()).role).toBe("admin"), SOON);
  verdicts[0]?.(true);
  await vi.waitFor(() => expect(verdicts).toHaveLength(2), SOON);
  verdicts[1]?.(false);
  await expect(joining).rejects.toMatchObject({ code: "PERMISSION_DENIED" });
});

test("a topic whose authorizer fails or does not answer after a change is left, and the failure is reported", async () => {
  let isBroken = false;
  const world = await startWorld({
    authorizeTopic: (_data, topic) => {
      if (!isBroken) return true;
      if (topic === "thrown") throw new Error("no database");
      return new Promise(() => undefined);
    },
  });
  const reported: string[] = [];
  world.router.onError((error) => void reported.push(error.message));
  const { app } = world;
  const ann = await app.person("ann");
  const tab = await world.connect(ann);
  await tab.join("thrown");
  await tab.join("silent");
  isBroken = true;
  await app.call("/update-user", { as: ann, body: { name: "Ann" } });
  await vi.waitFor(async () => {
    const results = [
      await world.router.publish("thrown", News, { text: "x" }),
      await world.router.publish("silent", News, { text: "x" }),
    ];
    expect(results).toEqual([
      { ok: true, matchedLocal: 0 },
      { ok: true, matchedLocal: 0 },
    ]);
  }, SOON);
  expect(reported.join(" ")).toContain("authorizeTopic did not settle within 1000 ms");
});

test("a membership that no longer holds after a session change ends, and others stay", async () => {
  const world = await startWorld();
  const { app, router } = world;
  const Team = channel("team:{id}", { params: { id: z.string() }, events: [News] });
  let isAway = false;
  router.channel(Team, {
    authorize(ctx, { id }) {
      if (isAway) throw new Error("no database");
      return id === "all" || ctx.data.role === id;
    },
  });
  router.onError(() => undefined);
  const [root, ann] = [await app.administrator(), await app.person("ann")];
  const tab = await world.connect(ann);
  const rooms = ["all", "user"].map((id) => joinChannel(tab.client, Team, { id }));
  const got: string[] = [];
  for (const room of rooms) {
    room.on(News, ({ text }) => got.push(text));
    await room.joined;
  }
  await app.call("/admin/set-role", { as: root, body: { userId: ann.id, role: "admin" } });
  await vi.waitFor(() => expect(rooms.map(({ state }) => state)).toEqual(["joined", "left"]), SOON);
  await router.to(Team, { id: "user" }).publish(News, { text: "canary" });
  await router.to(Team, { id: "all" }).publish(News, { text: "news" });
  await vi.waitFor(() => expect(got).toEqual(["news"]), SOON);
  // An authorization that fails is no refusal: the client joins again.
  isAway = true;
  await app.call("/admin/set-role", { as: root, body: { userId: ann.id, role: "user" } });
  await vi.waitFor(() => expect(rooms[0]?.error?.code).toBe("UNAVAILABLE"), SOON);
  isAway = false;
  await vi.waitFor(() => expect(rooms[0]?.state).toBe("joined"), { timeout: 5_000, interval: 10 });
});

test("a session store that does not respond refuses new connections with 1013, and keeps the client trying", async () => {
  const world = await startWorld();
  const ann = await world.app.person("ann");
  const context = await world.app.auth.$context;
  const find = vi.spyOn(context.internalAdapter, "findSession").mockRejectedValue(new Error("no database"));
  const { client } = world.open({ cookie: ann.cookie });
  const codes: unknown[] = [];
  client.onState((_state, info) => codes.push(info?.closeCode));
  const connected = client.connect();
  await vi.waitFor(() => expect(codes).toContain(1013), SOON);
  expect(client.session).toBe("unknown");
  find.mockRestore();
  await connected;
  expect(client.session).toBe("active");
});

test("without a session, no caller is admitted unless anonymous is set, and a wrong token is never anonymous", async () => {
  const strict = await startWorld();
  await expect(strict.open({}).client.connect()).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
  const open = await startWorld({ session: { anonymous: true } });
  const { client } = open.open({});
  await client.connect();
  expect(JSON.parse((await client.request(Who)).payload.json)).toEqual({
    clientId: expect.any(String),
    address: "127.0.0.1",
  });
  await expect(open.open({}, "?access_token=wrong").client.connect()).rejects.toMatchObject({
    code: "UNAUTHENTICATED",
  });
});

test("a bearer token and a one-time token sign a connection in, the latter once", async () => {
  const world = await startWorld();
  const ann = await world.app.person("ann");
  const who = async (token: string) => {
    const { client } = world.open({}, `?access_token=${encodeURIComponent(token)}`);
    await client.connect();
    return JSON.parse((await client.request(Who)).payload.json).userId;
  };
  expect(await who(ann.token)).toBe(ann.id);
  const { token } = await world.app.auth.api.generateOneTimeToken({ headers: world.app.headers(ann) });
  expect(await who(token)).toBe(ann.id);
  await expect(who(token)).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
});

test("a session that expires closes its connections with 4401, and a renewed one does not", async () => {
  const store = await createStore({ database: "sqlite", storage: false });
  const host = await startAuth(store, { session: { expiresIn: 2, updateAge: 0 } });
  const world = await startWorld({ store, host });
  const ann = await host.person("ann");
  const bob = await host.person("bob");
  const [expires, renewed] = [await world.connect(ann), await world.connect(bob)];
  await vi.waitFor(
    async () => {
      await host.auth.api.getSession({ headers: host.headers(bob) });
      expect(expires.lost).toEqual([4401]);
    },
    { ...SOON, interval: 100 },
  );
  expect((await renewed.who()).userId).toBe(bob.id);
  expect(renewed.lost).toEqual([]);
});

test("a wrapped authenticate function is refused, because its connections would not be followed", async () => {
  const app = await startAuth(await createStore({ database: "sqlite", storage: false }));
  const authenticate = betterAuthSession(app.auth);
  const request = new Request("http://app.example");
  await expect(authenticate(request, { token: undefined })).rejects.toThrow(
    "Pass it as the option authenticate",
  );
});

test("in a Durable Object it throws, because nothing would close the connections after a sign-out", async () => {
  const app = await startAuth(await createStore({ database: "sqlite", storage: false }));
  const { follow } = betterAuthSession(app.auth);
  expect(() => createRouter().attach({ isolated: true, follow })).toThrow(
    "does not work in a Durable Object",
  );
});

test("a change in one process reaches connections of another over the router's pub/sub, and tokens stay at home", async () => {
  const { url, prefix } = await createRedisPrefix();
  const connectRedis = () => {
    const client = createClient({ url });
    client.on("error", () => {});
    const pubsub = redisPubSub(client, { prefix });
    onTestFinished(() => pubsub.close());
    return pubsub;
  };
  const store = await createStore({ database: "postgres", storage: false });
  const here = await startWorld({ store, pubsub: connectRedis() });
  const there = await startWorld({ store, pubsub: connectRedis() });
  const spy = createClient({ url });
  spy.on("error", () => {});
  await spy.connect();
  onTestFinished(() => spy.close());
  const announced: string[] = [];
  await spy.pSubscribe(`${prefix}*`, (text) => announced.push(text));
  const ann = await here.app.person("ann");
  const bob = await here.app.person("bob");
  const [lost, kept] = [await there.connect(ann), await there.connect(bob)];
  await here.app.call("/sign-out", { as: ann });
  await vi.waitFor(() => expect(lost.lost).toEqual([4401]), SOON);
  expect((await kept.who()).userId).toBe(bob.id);
  await vi.waitFor(() => expect(announced.join(" ")).toContain("session-print"), SOON);
  expect(announced.join(" ")).not.toContain(ann.token);
  await store.sql(`delete from "session" where "userId" = ?`, bob.id);
  await forgetCaller(here.app.auth, { userId: bob.id });
  await vi.waitFor(() => expect(kept.lost).toEqual([4401]), SOON);
});
