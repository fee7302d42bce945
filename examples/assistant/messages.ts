/** The messages of the assistant, shared by server and page. */
import { message, rpc, z } from "@halyard/wire/zod";

/** One answer of the assistant. `words` is how many words an earlier answer to the same question had, when it continues. */
const Entry = {
  id: z.string(),
  question: z.string(),
  words: z.number().int().min(0),
};

/** The items are words. The call goes on when the window is closed, and is kept for an hour. */
export const Ask = rpc(
  "ASK",
  { question: z.string().min(1).max(500), words: z.number().int().min(0).max(10_000).default(0) },
  "ASKED",
  { words: z.number() },
  { progress: z.string().max(100), durable: { keepMs: 60 * 60_000 } },
);

export const Conversation = rpc("CONVERSATION", undefined, "CONVERSATION_OK", {
  entries: z.array(z.object(Entry)),
});

/** Published to all windows of a user. */
export const Started = message("STARTED", Entry);

export type EntryOf = z.infer<z.ZodObject<typeof Entry>>;
