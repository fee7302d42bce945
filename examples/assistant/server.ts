/** The server: answers run to their end without a window, and every window of the user can read them. */
import { type ServerHandle, serve } from "@halyard/wire/node";
import { createRouter } from "@halyard/wire/zod";
import { generate } from "./generator.ts";
import { Ask, Conversation, type EntryOf, Started } from "./messages.ts";

interface Data {
  readonly clientId: string;
  readonly userId: string;
}

const MAX_ENTRIES = 50;

/** `wordMs`: the time between two words, in ms. */
export function startServer(port: number, wordMs = 60): Promise<ServerHandle> {
  /** The conversation of each user. An application keeps it in its database. */
  const conversations = new Map<string, EntryOf[]>();
  const topicOf = (userId: string): string => `user:${userId}`;

  const router = createRouter<Data>()
    .onOpen((ctx) => ctx.subscribe(topicOf(ctx.data.userId)))
    .rpc(Conversation, (ctx) => ({ entries: conversations.get(ctx.data.userId) ?? [] }))
    .rpc(Ask, { owner: (ctx) => ctx.data.userId }, async (ctx) => {
      const { question, words: from } = ctx.payload;
      const { userId } = ctx.data;
      const entry = { id: ctx.callId, question, words: from };
      conversations.set(userId, [...(conversations.get(userId) ?? []), entry].slice(-MAX_ENTRIES));
      await ctx.publish(topicOf(userId), Started, entry);
      let words = 0;
      for await (const word of generate(question, from, wordMs, ctx.abortSignal)) {
        await ctx.progress(word);
        words++;
      }
      return { words };
    });

  return serve(router, {
    port,
    // The example has no passwords: the token is the name.
    authenticate: (_request, { token }) => (token ? { userId: token } : undefined),
  });
}
