/** What server and client say to each other. */
import { message, z } from "@halyard/wire/zod";

const room = z.string().regex(/^[a-z0-9-]{1,32}$/);
const id = z.string().min(1).max(64);
export const line = z.object({ id, from: z.string(), text: z.string() });

/** Client: enter a room and see what was said last. */
export const Join = message("JOIN", { payload: { room }, response: { recent: z.array(line) } });

/**
 * Client: say something. A request, so that the sender knows whether it was taken. Who gives it an `id` may send it
 * again without being heard twice.
 */
export const Say = message("SAY", {
  payload: { room, id: id.optional(), text: z.string().min(1).max(500) },
  response: {},
});

/** Server, to the room: somebody said something. */
export const Said = message("SAID", { room, id, from: z.string(), text: z.string() });

/** Client: a key was pressed. An event: if it gets lost, nothing is. */
export const Typing = message("TYPING", { room });

/** Server, to the others in the room: somebody is typing. */
export const IsTyping = message("IS_TYPING", { room, from: z.string() });

/** Client: the whole history of a room. Reports `ExportProgress` on the way. */
export const Export = message("EXPORT", { payload: { room }, response: { lines: z.array(line) } });

/** Progress is not part of a schema, so its receiver checks it. */
export const ExportProgress = z.object({ done: z.number(), total: z.number() });

export type Line = z.infer<typeof line>;
