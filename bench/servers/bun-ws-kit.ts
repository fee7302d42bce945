/** ws-kit on Bun: Zod in and out. Its adapter for Bun's topics delivered nothing, so its memory adapter is used. */
import { createBunHandler } from "@ws-kit/bun";
import { memoryPubSub } from "@ws-kit/memory";
import { createRouter, message, rpc, withPubSub, withZod } from "@ws-kit/zod";
import { collectOnSignal } from "./shared/collect.ts";
import { fields } from "./shared/zod.ts";

const Echo = rpc("ECHO", fields, "ECHO_OK", fields);
const Sub = message("SUB");
const Pub = message("PUB", fields);
const Evt = message("EVT", fields);

collectOnSignal();
const router = createRouter()
  .plugin(withZod())
  .plugin(withPubSub({ adapter: memoryPubSub() }))
  .rpc(Echo, (ctx) => void ctx.reply(ctx.payload))
  .on(Sub, (ctx) => ctx.topics.subscribe("t"))
  .on(Pub, async (ctx) => {
    const { ok } = await ctx.publish("t", Evt, ctx.payload);
    if (!ok) throw new Error("The message was not published.");
  })
  .onError((error) => console.error(error));

const { port } = Bun.serve({ ...createBunHandler(router), port: 0, hostname: "127.0.0.1" });
console.log(JSON.stringify({ port }));
