/** The chat: sign-in, rooms and their messages. It is independent of the platform, and `server.ts` adds the sockets. */
import type { Router } from "@halyard/wire";
import { memoryRateLimiter } from "@halyard/wire/memory";
import { rateLimit } from "@halyard/wire/middleware";
import { createRouter } from "@halyard/wire/zod";
import { Export, IsTyping, Join, type Line, Said, Say, Typing } from "./messages.ts";

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

const RECENT_LINES = 20;
const KEPT_LINES = 500;
const EXPORT_STEPS = 10;

/** Rate limit per user over all connections: a burst of 20, then 5 per second. */
const RATE = { capacity: 20, tokensPerSecond: 5 };

/** `users` maps tokens to names. */
export function createChat(users: ReadonlyMap<string, string>): Chat {
  const histories = new Map<string, Line[]>();
  const historyOf = (room: string): readonly Line[] => histories.get(room) ?? [];
  const topicOf = (room: string): string => `room:${room}`;

  const router = createRouter<Session>({ heartbeat: {}, limits: { maxPayloadBytes: 8_192 } })
    .use(rateLimit({ limiter: memoryRateLimiter(RATE), key: "user" }))
    .rpc(Join, async (ctx) => {
      const { room } = ctx.payload;
      await ctx.subscribe(topicOf(room));
      ctx.reply(Join.response, { recent: historyOf(room).slice(-RECENT_LINES) });
    })
    .rpc(Say, async (ctx) => {
      const { room, id = crypto.randomUUID(), text } = ctx.payload;
      if (!ctx.topics.has(topicOf(room))) {
        return ctx.error("FAILED_PRECONDITION", "Join the room before you speak in it.");
      }
      const line: Line = { id, from: ctx.data.userId, text };
      if (!historyOf(room).some((earlier) => earlier.id === id && earlier.from === line.from)) {
        histories.set(room, [...historyOf(room), line].slice(-KEPT_LINES));
        await ctx.publish(topicOf(room), Said, { room, ...line });
      }
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
      const all = historyOf(room);
      const step = Math.max(1, Math.ceil(all.length / EXPORT_STEPS));
      const lines: Line[] = [];
      while (lines.length < all.length) {
        if (ctx.abortSignal.aborted) return;
        lines.push(...all.slice(lines.length, lines.length + step));
        ctx.progress({ done: lines.length, total: all.length });
        await letOthersIn();
      }
      ctx.reply(Export.response, { lines });
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

/** The next turn of the event loop, so that a long export does not block the room. */
function letOthersIn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}
