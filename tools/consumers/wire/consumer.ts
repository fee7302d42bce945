/** What a user of @halyard/wire may write, with the types they may rely on. Compiled against the packed tarball. */

import { createRouter, type MessageSchema, message, WsError } from "@halyard/wire";
import { type AuthInstance, betterAuthSession, type SessionData } from "@halyard/wire/better-auth";
import { createBunHandler } from "@halyard/wire/bun";
import { wsClient } from "@halyard/wire/client";
import { wsClient as valibotClient } from "@halyard/wire/client/valibot";
import { wsClient as zodClient } from "@halyard/wire/client/zod";
import { createDurableObjectHandler } from "@halyard/wire/cloudflare";
import { memoryPubSub, memoryRateLimiter } from "@halyard/wire/memory";
import { createMetrics, logger, rateLimit, requireAuth, telemetry } from "@halyard/wire/middleware";
import { type NatsConnection, natsPubSub } from "@halyard/wire/nats";
import { createNodeHandler, type ServerHandle, serve } from "@halyard/wire/node";
import { useClient, useConnectionState, useMessage, useRequest, WireProvider } from "@halyard/wire/react";
import { redisPubSub, redisRateLimiter } from "@halyard/wire/redis";
import { createTestServer } from "@halyard/wire/testing";
import type { CONTROL } from "@halyard/wire/unstable-devtools";
import { v, message as valibotMessage } from "@halyard/wire/valibot";
import { rpc, z, message as zodMessage } from "@halyard/wire/zod";
import { Cluster, Redis } from "ioredis";
import { createElement, type ReactNode } from "react";
import { createClient, createCluster, createSentinel } from "redis";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function assertEqual<A, B>(..._proof: Equal<A, B> extends true ? [] : [never]): void {}

declare module "@halyard/wire" {
  interface ConnectionData {
    strangerId?: string;
  }
}

const Ping = message("PING");
assertEqual<typeof Ping, MessageSchema<"PING", undefined, undefined, undefined>>();

const Said = zodMessage("SAID", { text: z.string(), at: z.coerce.date().optional() });
const Heard = valibotMessage("HEARD", { payload: { text: v.string() }, meta: { room: v.string() } });
const Greet = rpc("GREET", { name: z.string() }, "GREETING", { text: z.string() });

const limiter = memoryRateLimiter({ capacity: 10, tokensPerSecond: 1 });
const router = createRouter({ pubsub: memoryPubSub() })
  .use(logger())
  .use(telemetry())
  .use(rateLimit({ limiter, key: "user" }))
  .use(requireAuth((ctx) => ctx.data.strangerId !== undefined));
assertEqual<typeof CONTROL.error, "$ws:error">();
router.on(Said, (ctx) => {
  assertEqual<typeof ctx.payload.text, string>();
  assertEqual<typeof ctx.data.strangerId, string | undefined>();
  // @ts-expect-error the payload has no such field
  ctx.payload.nothing;
});
router.on(Heard, (ctx) => {
  assertEqual<typeof ctx.payload, { text: string }>();
  assertEqual<typeof ctx.meta.room, string>();
  // @ts-expect-error the meta needs a room
  void ctx.send(Heard, { text: "x" });
});
router.rpc(Greet, (ctx) => {
  assertEqual<typeof ctx.payload, { name: string }>();
  if (ctx.payload.name === "") throw new WsError("INVALID_ARGUMENT", "A name is needed.");
  // @ts-expect-error the response is text
  if (ctx.payload.name === "number") void ctx.reply(Greet.response, { text: 1 });
  ctx.reply(Greet.response, { text: `Hello, ${ctx.payload.name}` });
});

export function spread(connection: NatsConnection): unknown[] {
  const bucket = { capacity: 1, tokensPerSecond: 1 };
  const [client, cluster] = [createClient(), createCluster({ rootNodes: [] })];
  const sentinel = createSentinel({ name: "main", sentinelRootNodes: [] });
  const [single, many] = [new Redis({ lazyConnect: true }), new Cluster([], { lazyConnect: true })];
  const metrics = createMetrics();
  createRouter({ metrics, pubsub: natsPubSub(connection, { prefix: "app." }) });
  for (const known of [client, cluster, sentinel, single, many]) redisRateLimiter(known, bucket);
  // @ts-expect-error not a client
  redisPubSub({ url: "redis://localhost" });
  // @ts-expect-error not a connection
  natsPubSub({ servers: "localhost" });
  return [client, cluster, sentinel, single, many].map((known) =>
    redisPubSub(known, { prefix: "app:", subscriber: known, replyTimeoutMs: 1_000 }),
  );
}

export class Room extends createDurableObjectHandler(router) {}
export const bun: { fetch: unknown } = createBunHandler(router);
export const node: { upgrade: unknown } = createNodeHandler(router, {
  authenticate: () => ({ strangerId: "1" }),
});
export const clients: unknown[] = [
  zodClient({ url: "ws://localhost", wsFactory: (url, protocols) => new WebSocket(url, protocols) }),
  valibotClient({ url: new URL("ws://localhost"), unknownKeys: "strip" }),
];

export async function talk(): Promise<string> {
  const server: ServerHandle = await serve(router, { port: 0 });
  const client = wsClient({ url: `ws://localhost:${server.port}` });
  await client.connect();
  const stop = client.on(Said, (payload) => assertEqual<typeof payload.text, string>());
  const stopHearing = client.on(Heard, (_payload, meta) => assertEqual<typeof meta.room, string>());
  const { payload } = await client.request(Greet, { name: "Ada" });
  const sent: boolean = client.send(Said, { text: "x" }, { correlationId: "1" });
  // @ts-expect-error the meta needs a room
  client.send(Heard, { text: "x" });
  const request = client.request(Said, { text: "x" }, Greet.response, { timeoutMs: sent ? 1_000 : 2_000 });
  request.onProgress((data) => assertEqual<typeof data, unknown>());
  assertEqual<Awaited<typeof request>["payload"], { text: string }>();
  for await (const data of request) assertEqual<typeof data, unknown>();
  stopHearing();
  // @ts-expect-error the request needs a name
  await client.request(Greet, {});
  stop();
  await client.close();
  await server.stop();
  assertEqual<typeof payload, { text: string }>();
  return payload.text;
}

export function Greeter(): ReactNode {
  const { request, status, data, error, progress, cancel } = useRequest(Greet);
  const { protocol } = useClient();
  const state = useConnectionState();
  useMessage(Said, ({ text }) => assertEqual<typeof text, string>());
  assertEqual<typeof state, "closed" | "connecting" | "open" | "closing" | "reconnecting">();
  assertEqual<typeof progress, unknown>();
  // @ts-expect-error the request needs a name
  if (status === "error") void request({});
  if (status === "idle") void request({ name: "Ada" }, { timeoutMs: 1_000 });
  if (state === "closed") cancel();
  return data?.payload.text ?? error?.code ?? protocol;
}

export const app: ReactNode = createElement(WireProvider, {
  client: wsClient({ url: "/ws" }),
  children: createElement(Greeter),
});

export async function rehearse(): Promise<string> {
  const peer = await createTestServer(router).connect({ data: { strangerId: "1" } });
  const { text } = await peer.request(Greet, { name: "Ada" });
  return text;
}

export function followSessions(auth: AuthInstance): Promise<ServerHandle> {
  const signedIn = createRouter<SessionData & { plan: string }>();
  // @ts-expect-error the data lacks `plan`
  void serve(signedIn, { authenticate: betterAuthSession(auth) });
  // @ts-expect-error an anonymous visitor has no `userId`
  void serve(signedIn, { authenticate: betterAuthSession(auth, { anonymous: true }) });
  const authenticate = betterAuthSession(auth, {
    data: ({ userId }) => {
      assertEqual<typeof userId, string>();
      return { plan: "pro" };
    },
    onSessionChange: (ctx, { changed }) => {
      assertEqual<typeof ctx.data.plan, string>();
      changed.includes("organizationId");
    },
  });
  return serve(signedIn, { authenticate });
}
