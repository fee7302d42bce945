/** Socket.IO on Node, WebSockets only. It has no validation, and none is added. */
import { once } from "node:events";
import { createServer } from "node:http";
import { Server } from "socket.io";
import { collectOnSignal } from "./shared/collect.ts";
import { handle } from "./shared/socket-io.ts";

collectOnSignal();
const server = createServer();
handle(new Server(server, { transports: ["websocket"], perMessageDeflate: false, serveClient: false }));

server.listen(0, "127.0.0.1");
await once(server, "listening");
const address = server.address();
console.log(JSON.stringify({ port: typeof address === "object" ? address?.port : address }));
