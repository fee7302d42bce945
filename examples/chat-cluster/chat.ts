/** The chat for several processes, with the same guarantees as in one. The shared state is in Redis. */
import { Export, IsTyping, Join, type Line, Said, Say, Typing } from "@halyard/example-chat-node/messages";
import type { Metrics, PubSub, Router } from "@halyard/wire";
import { type RateLimiter, rateLimit } from "@halyard/wire/middleware";
import { createRouter } from "@halyard/wire/zod";
import type { Lines } from "./lines.ts";

export interface Session {
  clientId: string;
  userId: string;
}

export interface Shared {
  readonly pubsub: PubSub;
  readonly limiter: RateLimiter;
  readonly lines: Lines;
  readonly metrics: Metrics;
}

const RECENT_LINES = 20;
const EXPORT_STEP = 1;

export function createChat({ pubsub, limiter, lines, metrics }: Shared): Router<Session> {
  const topicOf = (room: string): string => `room:${room}`;

  return createRouter<Session>({ pubsub, metrics, heartbeat: {}, limits: { maxPayloadBytes: 8_192 } })
    .use(rateLimit({ limiter, key: "user" }))
    .rpc(Join, async (ctx) => {
      const { room } = ctx.payload;
      // Subscribe first, then read: a message in between arrives twice and is not lost.
      await ctx.subscribe(topicOf(room));
      ctx.reply(Join.response, { recent: await lines.read(room, -RECENT_LINES, -1) });
    })
    .rpc(Say, async (ctx) => {
      const { room, id = crypto.randomUUID(), text } = ctx.payload;
      if (!ctx.topics.has(topicOf(room))) {
        return ctx.error("FAILED_PRECONDITION", "Join the room before you speak in it.");
      }
      const line: Line = { id, from: ctx.data.userId, text };
      // The message is accepted once it is stored. If publishing fails now, clients read it when they receive the gap.
      if (await lines.add(room, line)) await ctx.publish(topicOf(room), Said, { room, ...line });
      ctx.reply(Say.response, {});
    })
    .on(Typing, async (ctx) => {
      const { room } = ctx.payload;
      if (!ctx.topics.has(topicOf(room))) return;
      await ctx.publish(topicOf(room), IsTyping, { room, from: ctx.data.userId }, { excludeSelf: true });
    })
    .rpc(Export, async (ctx) => {
      const { room } = ctx.payload;
      if (!ctx.topics.has(topicOf(room)))
        return ctx.error("PERMISSION_DENIED", "Join the room before you read its history.");
      const all = await lines.read(room, 0, -1);
      for (let done = EXPORT_STEP; done <= all.length && !ctx.abortSignal.aborted; done += EXPORT_STEP)
        ctx.progress({ done, total: all.length });
      ctx.reply(Export.response, { lines: all });
    })
    .onError((error, ctx) => console.error(`${ctx.type ?? "a frame"} of ${ctx.clientId}: ${error.code}`));
}
