/** Halyard's router, the same on every runtime. */
import type { Router } from "@halyard/wire";

async function withZod(options: { readonly heartbeat?: object } = {}): Promise<Router> {
  const { createRouter, message, rpc } = await import("@halyard/wire/zod");
  const { fields } = await import("./zod.ts");
  const Echo = rpc("ECHO", fields, "ECHO_OK", fields);
  const Sub = message("SUB");
  const Pub = message("PUB", fields);
  const Evt = message("EVT", fields);
  return createRouter(options)
    .rpc(Echo, (ctx) => ctx.reply(Echo.response, ctx.payload))
    .on(Sub, (ctx) => ctx.subscribe("t"))
    .on(Pub, (ctx) => ctx.publish("t", Evt, ctx.payload));
}

async function withValibot(): Promise<Router> {
  const { createRouter, rpc } = await import("@halyard/wire/valibot");
  const { fields } = await import("./valibot.ts");
  const Echo = rpc("ECHO", fields, "ECHO_OK", fields);
  return createRouter().rpc(Echo, (ctx) => ctx.reply(Echo.response, ctx.payload));
}

const routers: Readonly<Record<string, () => Promise<Router>>> = {
  zod: withZod,
  valibot: withValibot,
  heartbeat: () => withZod({ heartbeat: {} }),
};

/** The router that the command line names. */
export async function chooseRouter(variant: string | undefined): Promise<Router> {
  const create = routers[variant ?? ""];
  if (create === undefined)
    throw new Error(`Give the variant as argument: ${Object.keys(routers).join(" or ")}.`);
  return create();
}
