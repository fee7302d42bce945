/** One process of the chat. It prints its port, serves, and drains on SIGTERM. */
import { createChat, RATE } from "@halyard/example-chat-node/chat";
import { users } from "@halyard/example-chat-node/users";
import { createMetrics } from "@halyard/wire/middleware";
import { serve } from "@halyard/wire/node";
import { redisPubSub, redisRateLimiter } from "@halyard/wire/redis";
import { createClient } from "redis";

const { REDIS_URL = "redis://localhost:6379", PREFIX = "chat:", PORT = "0" } = process.env;

const redis = createClient({ url: REDIS_URL });
redis.on("error", (error: Error) => console.error(`Redis: ${error.message}`));
await redis.connect();

const pubsub = redisPubSub(redis, { prefix: PREFIX });
const { router, authenticate } = createChat(users, {
  // Messages, their history and the members of rooms, for all processes.
  pubsub,
  limiter: redisRateLimiter(redis, RATE, { prefix: `${PREFIX}rate:` }),
  metrics: createMetrics(),
});

const server = await serve(router, {
  port: Number(PORT),
  host: "localhost",
  healthPath: "/health",
  metricsPath: "/metrics",
  handleSignals: false,
  authenticate,
});
console.log(JSON.stringify({ port: server.port }));

async function end(): Promise<void> {
  await server.drain();
  await pubsub.close();
  redis.destroy();
  if (process.connected) process.disconnect();
}
process.once("SIGTERM", () => void end());
// The parent process has ended, so no other process would stop this one.
process.once("disconnect", () => process.exit());
