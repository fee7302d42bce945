/** The messages between rooms and clients. The room is part of the URL. */
import { message, z } from "@halyard/wire/zod";

/** Client: send a chat message. The response has the number of messages of this connection. */
export const Say = message("SAY", {
  payload: { text: z.string().min(1).max(500) },
  response: { lines: z.number() },
});

/** Room, to all its connections: a chat message. */
export const Said = message("SAID", { from: z.string(), text: z.string() });
