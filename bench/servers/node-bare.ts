/** Baselines on Node: `ws` without a library. `json` is the engine alone, `zod` and `valibot` check payloads and cork replies. */
import { once } from "node:events";
import { type RawData, type WebSocket, WebSocketServer } from "ws";
import { chooseAnswer, encodeEvent, parse } from "./shared/by-hand.ts";
import { collectOnSignal } from "./shared/collect.ts";

collectOnSignal();
const variant = process.argv[2];
const answer = await chooseAnswer(variant);
const corks = variant !== "json";
const subscribers = new Set<WebSocket>();
const server = new WebSocketServer({
  port: 0,
  host: "127.0.0.1",
  perMessageDeflate: false,
  maxPayload: 1_000_000,
});

server.on("connection", (peer, { socket }) => {
  let corked = false;
  function corkUntilNextTick(): void {
    if (corked) return;
    corked = true;
    socket.cork();
    setImmediate(() => {
      corked = false;
      socket.uncork();
    });
  }
  peer.on("message", (data: RawData) => {
    const frame = parse(data.toString());
    if (frame.type === "ECHO") {
      if (corks) corkUntilNextTick();
      peer.send(answer(frame));
    } else if (frame.type === "PUB") broadcast(encodeEvent(frame.payload));
    else if (frame.type === "SUB") subscribers.add(peer);
    else throw new Error("This server supports only ECHO, SUB and PUB.");
  });
  peer.on("close", () => subscribers.delete(peer));
});

/** Serialised once and sent to each subscriber in turn. */
function broadcast(event: string): void {
  const bytes = Buffer.from(event);
  for (const peer of subscribers) if (peer.readyState === peer.OPEN) peer.send(bytes, { binary: false });
}

await once(server, "listening");
const address = server.address();
console.log(JSON.stringify({ port: typeof address === "object" ? address?.port : address }));
