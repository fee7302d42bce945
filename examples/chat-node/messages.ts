/** The messages and channels that server and client share. */
import { channel, message, z } from "@halyard/wire/zod";

const room = z.string().regex(/^[a-z0-9-]{1,32}$/);
const id = z.string().min(1).max(64);

/** Server, to the room: a chat message. */
export const Said = message("SAID", { id, from: z.string(), text: z.string() });

/** Server, to the others in the room: a user is typing. */
export const IsTyping = message("IS_TYPING", { from: z.string() });

/** The messages of a room. The last ones are kept, so that a client that was disconnected misses none. */
export const Room = channel("room:{room}", {
  params: { room },
  events: [Said],
  history: { size: 500, ttlMs: 24 * 60 * 60_000 },
});

/** Hints have no history: a missed one does not matter. */
export const Hints = channel("hints:{room}", { params: { room }, events: [IsTyping] });

/**
 * Client: send a chat message. It is a request, so that the sender knows whether it was accepted. A client that sets
 * `id` may send it again without a duplicate.
 */
export const Say = message("SAY", {
  payload: { room, id: id.optional(), text: z.string().min(1).max(500) },
  response: {},
});

/** Client: a key was pressed. An event, because its loss does not matter. */
export const Typing = message("TYPING", { room });

export interface Line {
  readonly id: string;
  readonly from: string;
  readonly text: string;
}
