/** What rooms and clients say to each other. Which room is meant is in the address. */
import { message, z } from "@halyard/wire/zod";

/** Client: say something. Tells how many lines this connection has said. */
export const Say = message("SAY", {
  payload: { text: z.string().min(1).max(500) },
  response: { lines: z.number() },
});

/** Room, to everybody in it: somebody said something. */
export const Said = message("SAID", { from: z.string(), text: z.string() });
