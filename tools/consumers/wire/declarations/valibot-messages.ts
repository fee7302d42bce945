import { message, rpc, v } from "@halyard/wire/valibot";

export const Greet = rpc("GREET", { name: v.string() }, "GREETING", { text: v.string() });
export const Ping = rpc("PING", undefined, "PONG", undefined);
export const Said = message("SAID", { room: v.string(), at: v.optional(v.number(), 0) });
export const Drawn = message("DRAWN", v.object({ shape: v.picklist(["circle", "square"]) }));
export const Moved = message("MOVED", { x: v.number() }, { room: v.string() });
export const Sum = message("SUM", { payload: { terms: v.array(v.number()) }, response: { sum: v.number() } });
export const Left = message("LEFT");
