/** One process of the chat. It prints its port, serves, and drains on SIGTERM. */
import { users } from "@halyard/example-chat-node/users";
import { createMetrics } from "@halyard/wire/middleware";
import { serve } from "@halyard/wire/node";
import { redisPubSub, redisRateLimiter } from "@halyard/wire/redis";
import { createClient } from "redis";
import { createChat } from "./chat.ts";
import { Lines } from "./lines.ts";

const { REDIS_URL = "redis://localhost:6379", PREFIX = "chat:", PORT = "0" } = process.env;

const redis = createClient({ url: REDIS_URL });
redis.on("error", (error: Error) => console.error(`Redis: ${error.message}`));
await redis.connect();

const pubsub = redisPubSub(redis, { prefix: PREFIX });
const router = createChat({
  pubsub,
  // All processes together: a burst of 20 per user, then 5 per second.
  limiter: redisRateLimiter(redis, { capacity: 20, tokensPerSecond: 5 }, { prefix: `${PREFIX}rate:` }),
  lines: new Lines(redis, PREFIX),
  metrics: createMetrics(),
});

const server = await serve(router, {
  port: Number(PORT),
  host: "localhost",
  healthPath: "/health",
  metricsPath: "/metrics",
  handleSignals: false,
  authenticate(_request, { token }) {
    const userId = token === undefined ? undefined : users.get(token);
    return userId === undefined ? undefined : { userId };
  },
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
