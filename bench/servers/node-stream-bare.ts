/** Baselines of streams on Node: `ws` without a library. `json` is the engine alone, `zod` checks each item. Both cork. */
import { once } from "node:events";
import { type RawData, WebSocketServer } from "ws";
import { collectOnSignal } from "./shared/collect.ts";
import { chooseCheck, HandStream } from "./shared/stream.ts";

collectOnSignal();
const check = await chooseCheck(process.argv[2]);
const server = new WebSocketServer({
  port: 0,
  host: "127.0.0.1",
  perMessageDeflate: false,
  maxPayload: 1_000_000,
});

server.on("connection", (peer, { socket }) => {
  let stream: HandStream | undefined;
  peer.on("message", (data: RawData) => {
    const { type, meta, payload } = JSON.parse(data.toString());
    socket.cork();
    if (type === "STREAM") {
      stream = new HandStream(meta.correlationId, payload, check, (frame) => peer.send(frame));
      stream.grant(meta.$c);
    } else stream?.grant(payload.n);
    setImmediate(() => socket.uncork());
  });
});

await once(server, "listening");
const address = server.address();
console.log(JSON.stringify({ port: typeof address === "object" ? address?.port : address }));
