/** The messages of the chat, shared by both ends. */
import { message, rpc, z } from "@halyard/wire/zod";

export const Join = rpc("JOIN", undefined, "JOINED", { team: z.string() });
export const Say = rpc("SAY", { text: z.string().min(1).max(500) }, "SAID_OK", {});
export const Said = message("SAID", { from: z.string(), text: z.string() });
/** Sent when the user has switched to another team, or was removed from one. */
export const TeamChanged = message("TEAM_CHANGED", { team: z.string().optional() });
