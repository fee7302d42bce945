/**
 * The fastest fan-out by hand with `ws`: framed once, and all frames of a tick in one write per socket. With a broker and
 * its URL as arguments, published messages reach all servers through it.
 */
import { once } from "node:events";
import type { Socket } from "node:net";
import { type RawData, WebSocketServer } from "ws";
import { chooseBus } from "./shared/bus.ts";
import { encodeEvent, parse } from "./shared/by-hand.ts";

const FINAL_TEXT = 0x81;
const LENGTH_IN_TWO_BYTES = 126;

const subscribers = new Set<Socket>();
let frames: Buffer[] = [];

/** An unmasked text frame of 126 to 65,535 bytes, as all events here are. */
function frame(text: string): Buffer {
  const payload = Buffer.from(text);
  const header = Buffer.from([FINAL_TEXT, LENGTH_IN_TWO_BYTES, payload.length >> 8, payload.length & 255]);
  return Buffer.concat([header, payload]);
}

function broadcast(event: string): void {
  if (frames.length === 0) setImmediate(flush);
  frames.push(frame(event));
}

function flush(): void {
  const bytes = Buffer.concat(frames);
  frames = [];
  for (const socket of subscribers) socket.write(bytes);
}

const publish = await chooseBus(process.argv[2], process.argv[3], broadcast);
const server = new WebSocketServer({ port: 0, host: "127.0.0.1", perMessageDeflate: false });
server.on("connection", (peer, { socket }) => {
  peer.on("message", (data: RawData) => {
    const { type, payload } = parse(data.toString());
    if (type === "PUB") publish(encodeEvent(payload));
    else if (type === "SUB") subscribers.add(socket);
    else throw new Error("This server supports only SUB and PUB.");
  });
  peer.on("close", () => subscribers.delete(socket));
});

await once(server, "listening");
const address = server.address();
console.log(JSON.stringify({ port: typeof address === "object" ? address?.port : address }));
