import { message, rpc, z } from "@halyard/wire/zod";

export const Greet = rpc("GREET", { name: z.string() }, "GREETING", { text: z.string() });
export const Ping = rpc("PING", undefined, "PONG", undefined);
export const Said = message("SAID", { room: z.string(), at: z.number().default(0) });
export const Drawn = message("DRAWN", z.object({ shape: z.enum(["circle", "square"]) }));
export const Moved = message("MOVED", { x: z.number() }, { room: z.string() });
export const Sum = message("SUM", { payload: { terms: z.array(z.number()) }, response: { sum: z.number() } });
export const Left = message("LEFT");
export const all = { Greet, Ping, Said };
