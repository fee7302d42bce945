/** The chat: sign-in, rooms and their messages. It is independent of the platform, and `server.ts` adds the sockets. */
import type { Router, RouterOptions } from "@halyard/wire";
import { memoryRateLimiter } from "@halyard/wire/memory";
import { type RateLimiter, rateLimit } from "@halyard/wire/middleware";
import { createRouter } from "@halyard/wire/zod";
import { Hints, IsTyping, Room, Said, Say, Typing } from "./messages.ts";

export interface Session {
  clientId: string;
  userId: string;
}

export interface Chat {
  readonly router: Router<Session>;
  /** For the option `authenticate` of `serve`. */
  authenticate(
    request: Request,
    credentials: { readonly token: string | undefined },
  ): { userId: string } | undefined;
}

/** What several processes of the chat share. */
export interface Shared extends Pick<RouterOptions<Session>, "pubsub" | "metrics"> {
  readonly limiter?: RateLimiter;
}

/** Rate limit per user over all connections: a burst of 20, then 5 per second. */
export const RATE = { capacity: 20, tokensPerSecond: 5 };

/** `users` maps tokens to names. */
export function createChat(
  users: ReadonlyMap<string, string>,
  { limiter = memoryRateLimiter(RATE), ...shared }: Shared = {},
): Chat {
  const router = createRouter<Session>({ ...shared, heartbeat: {}, limits: { maxPayloadBytes: 8_192 } })
    .use(rateLimit({ limiter, key: "user" }))
    // Every signed-in user may join every room.
    .channel(Room, { authorize: () => true })
    .channel(Hints, { authorize: () => true })
    .route(Say)
    .in(Room, ({ room }) => ({ room }))
    .rpc(async (ctx) => {
      const { room, id = crypto.randomUUID(), text } = ctx.payload;
      const from = ctx.data.userId;
      // A message that is sent again with its id is published once, also by another process.
      const published = await ctx
        .to(Room, { room })
        .publish(Said, { id, from, text }, { id: `${from}/${id}` });
      return published.ok ? {} : ctx.error("UNAVAILABLE", "The message was not published. Send it again.");
    })
    .on(Typing, async (ctx) => {
      const { room } = ctx.payload;
      if (!ctx.joined(Hints, { room })) return;
      await ctx.to(Hints, { room }).publish(IsTyping, { from: ctx.data.userId }, { excludeSelf: true });
    })
    .onError((error, ctx) => console.error(`${ctx.type ?? "a frame"} of ${ctx.clientId}: ${error.code}`));

  return {
    router,
    authenticate(_request, { token }) {
      const userId = token === undefined ? undefined : users.get(token);
      return userId === undefined ? undefined : { userId };
    },
  };
}
