/** Baselines of streams on Bun: `Bun.serve` without a library. `json` is the engine alone, `zod` checks each item. */
import { type BunPeer, serve } from "./shared/bun.ts";
import { collectOnSignal } from "./shared/collect.ts";
import { chooseCheck, HandStream } from "./shared/stream.ts";

collectOnSignal();
const check = await chooseCheck(process.argv[2]);
const streams = new WeakMap<BunPeer, HandStream>();

const server = serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch: (request, server) => (server.upgrade(request) ? undefined : new Response(null, { status: 426 })),
  websocket: {
    perMessageDeflate: false,
    maxPayloadLength: 1_000_000,
    message(peer, data) {
      const { type, meta, payload } = JSON.parse(data);
      if (type === "STREAM") {
        const stream = new HandStream(meta.correlationId, payload, check, (frame) => peer.send(frame));
        streams.set(peer, stream);
        stream.grant(meta.$c);
      } else streams.get(peer)?.grant(payload.n);
    },
  },
});
console.log(JSON.stringify({ port: server.port }));
