import { expect, test } from "vitest";

// A change of the public names is a reviewed diff of this file.
test.each([
  [
    "@halyard/wire",
    [
      "ERROR_CODES",
      "MemoryPubSub",
      "WsError",
      "bytes",
      "channel",
      "createPublisher",
      "createRouter",
      "live",
      "message",
      "rpc",
    ],
  ],
  [
    "@halyard/wire/zod",
    ["bytes", "channel", "createPublisher", "createRouter", "live", "message", "rpc", "z"],
  ],
  [
    "@halyard/wire/valibot",
    ["bytes", "channel", "createPublisher", "createRouter", "live", "message", "rpc", "v"],
  ],
  ["@halyard/wire/client", ["attachCall", "handle", "joinChannel", "startCall", "wsClient"]],
  ["@halyard/wire/client/zod", ["attachCall", "handle", "joinChannel", "startCall", "wsClient"]],
  ["@halyard/wire/client/valibot", ["attachCall", "handle", "joinChannel", "startCall", "wsClient"]],
  [
    "@halyard/wire/react",
    [
      "WireProvider",
      "useCall",
      "useChannel",
      "useChannelEvent",
      "useClient",
      "useConnection",
      "useConnectionState",
      "useGap",
      "useMessage",
      "useRequest",
      "useSession",
    ],
  ],
  ["@halyard/wire/node", ["createNodeHandler", "serve"]],
  ["@halyard/wire/bun", ["bunPubSub", "createBunHandler", "serve"]],
  ["@halyard/wire/cloudflare", ["createDurableObjectHandler", "createRoomRoutes"]],
  ["@halyard/wire/better-auth", ["betterAuthSession"]],
  ["@halyard/wire/memory", ["MemoryPubSub", "MemoryRateLimiter", "memoryPubSub", "memoryRateLimiter"]],
  ["@halyard/wire/redis", ["BrokerPubSub", "RedisRateLimiter", "redisPubSub", "redisRateLimiter"]],
  ["@halyard/wire/nats", ["BrokerPubSub", "natsPubSub"]],
  ["@halyard/wire/middleware", ["createMetrics", "logger", "rateLimit", "requireAuth", "telemetry"]],
  ["@halyard/wire/testing", ["createTestServer"]],
  [
    "@halyard/wire/unstable-devtools",
    [
      "CONTROL",
      "isLoopbackName",
      "isMessageSchema",
      "isReservedType",
      "notASchema",
      "positiveOption",
      "topicsOf",
    ],
  ],
])("%s exports exactly these names", async (entry, names) => {
  expect(Object.keys(await import(entry)).sort()).toEqual(names);
});
