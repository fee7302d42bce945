/** tRPC on Node: its adapter for `ws`, Zod in and out. */
import { EventEmitter, on, once } from "node:events";
import { initTRPC } from "@trpc/server";
import { applyWSSHandler } from "@trpc/server/adapters/ws";
import { WebSocketServer } from "ws";
import { collectOnSignal } from "./shared/collect.ts";
import { payload } from "./shared/zod.ts";

collectOnSignal();
const events = new EventEmitter().setMaxListeners(0);
const { router, procedure } = initTRPC.create();
const server = new WebSocketServer({ port: 0, host: "127.0.0.1", perMessageDeflate: false });

applyWSSHandler({
  wss: server,
  createContext: () => ({}),
  router: router({
    echo: procedure
      .input(payload)
      .output(payload)
      .mutation(({ input }) => input),
    pub: procedure.input(payload).mutation(({ input }) => events.emit("evt", input)),
    feed: procedure.subscription(async function* ({ signal }) {
      for await (const [event] of on(events, "evt", { ...(signal && { signal }) })) yield event;
    }),
  }),
});

await once(server, "listening");
const address = server.address();
console.log(JSON.stringify({ port: typeof address === "object" ? address?.port : address }));
