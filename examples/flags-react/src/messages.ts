/** The shop's own messages over the WebSocket, which flags share. */
import { message, rpc, z } from "@halyard/wire/zod";

/** How many of each good are left. Sent when a connection opens, and to everyone after a purchase. */
export const Stock = message("STOCK", { left: z.record(z.string(), z.number()) });

export const Buy = rpc("BUY", { name: z.string().max(100) }, "BOUGHT", { left: z.number() });

/** The active organization of the session has changed, perhaps in another window. */
export const Moved = message("MOVED", { organizationId: z.string().optional() });

export type StockLevels = Readonly<Record<string, number>>;
