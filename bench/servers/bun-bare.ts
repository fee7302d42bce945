/** Baselines on Bun: `Bun.serve` without a library. `json` is the engine alone, `zod` and `valibot` check payloads. */
import { serve } from "./shared/bun.ts";
import { chooseAnswer, encodeEvent, parse } from "./shared/by-hand.ts";
import { collectOnSignal } from "./shared/collect.ts";

collectOnSignal();
const answer = await chooseAnswer(process.argv[2]);

const server = serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch: (request, server) => (server.upgrade(request) ? undefined : new Response(null, { status: 426 })),
  websocket: {
    perMessageDeflate: false,
    maxPayloadLength: 1_000_000,
    message(peer, data) {
      const frame = parse(data);
      // Bun writes everything that is sent in one tick together.
      if (frame.type === "ECHO") peer.send(answer(frame));
      else if (frame.type === "PUB") server.publish("t", encodeEvent(frame.payload));
      else if (frame.type === "SUB") peer.subscribe("t");
      else throw new Error("This server supports only ECHO, SUB and PUB.");
    },
  },
});
console.log(JSON.stringify({ port: server.port }));
