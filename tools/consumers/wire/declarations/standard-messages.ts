import { message, rpc } from "@halyard/wire";
import { z } from "zod";

export const Said = message("SAID", z.strictObject({ room: z.string() }));
export const Greet = rpc(
  "GREET",
  z.strictObject({ name: z.string() }),
  "GREETING",
  z.strictObject({ text: z.string() }),
);
export const Sum = message("SUM", { response: z.strictObject({ sum: z.number() }) });
