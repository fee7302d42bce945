/** Halyard's router, the same on every runtime. */
import type { Router, RouterOptions } from "@halyard/wire";
import { choosePubSub } from "./bus.ts";

async function withZod(options: RouterOptions = {}): Promise<Router> {
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

/** An endless stream of the item in the request. */
async function withStream(): Promise<Router> {
  const { createRouter, rpc } = await import("@halyard/wire/zod");
  const { fields, payload } = await import("./zod.ts");
  const Stream = rpc("STREAM", fields, "STREAM_END", undefined, { progress: payload });
  return createRouter().rpc(Stream, async (ctx) => {
    for (;;) await ctx.progress(ctx.payload);
  });
}

const overBroker = async (broker: string, url: string | undefined): Promise<Router> =>
  withZod({ pubsub: await choosePubSub(broker, url) });

const routers: Readonly<Record<string, (brokerUrl: string | undefined) => Promise<Router>>> = {
  zod: () => withZod(),
  valibot: withValibot,
  stream: withStream,
  heartbeat: () => withZod({ heartbeat: {} }),
  redis: (url) => overBroker("redis", url),
  nats: (url) => overBroker("nats", url),
};

/** The router that the command line names, and its broker. */
export async function chooseRouter(variant: string | undefined, brokerUrl?: string): Promise<Router> {
  const create = routers[variant ?? ""];
  if (create === undefined)
    throw new Error(`Pass the variant as argument: ${Object.keys(routers).join(" or ")}.`);
  return create(brokerUrl);
}
