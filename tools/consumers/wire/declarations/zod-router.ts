import { createRouter, message, rpc, z } from "@halyard/wire/zod";

const Said = message("SAID", { room: z.string() });
const Greet = rpc("GREET", { name: z.string() }, "GREETING", { text: z.string() });

export const router = createRouter()
  .on(Said, () => {})
  .rpc(Greet, (ctx) => ctx.reply(Greet.response, { text: ctx.payload.name }));
export const withData = createRouter<{ clientId: string; userId?: string }>().onOpen((ctx) =>
  ctx.assignData({ userId: "u" }),
);
export const route = router.route(Said);
export const published = () => router.publish("t", Said, { room: "a" });
export const server = () => router.attach();
export const kicked = () => router.disconnect({ clientId: "c" });
