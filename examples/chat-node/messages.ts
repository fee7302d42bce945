/** The messages between server and client. */
import { message, z } from "@halyard/wire/zod";

const room = z.string().regex(/^[a-z0-9-]{1,32}$/);
const id = z.string().min(1).max(64);
export const line = z.object({ id, from: z.string(), text: z.string() });

/** Client: join a room and receive its last lines. */
export const Join = message("JOIN", { payload: { room }, response: { recent: z.array(line) } });

/**
 * Client: send a chat message. It is a request, so that the sender knows whether it was accepted. A client that sets
 * `id` may send it again without a duplicate.
 */
export const Say = message("SAY", {
  payload: { room, id: id.optional(), text: z.string().min(1).max(500) },
  response: {},
});

/** Server, to the room: a chat message. */
export const Said = message("SAID", { room, id, from: z.string(), text: z.string() });

/** Client: a key was pressed. An event, because its loss does not matter. */
export const Typing = message("TYPING", { room });

/** Server, to the others in the room: a user is typing. */
export const IsTyping = message("IS_TYPING", { room, from: z.string() });

/** Client: request the whole history of a room. The server reports `ExportProgress` during the request. */
export const Export = message("EXPORT", { payload: { room }, response: { lines: z.array(line) } });

/** Progress is not part of a schema, so the receiver checks it. */
export const ExportProgress = z.object({ done: z.number(), total: z.number() });

export type Line = z.infer<typeof line>;
