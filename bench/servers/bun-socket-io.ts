/** Socket.IO on Bun with its engine for Bun. It has no validation, and none is added. */
import { Server as Engine } from "@socket.io/bun-engine";
import { Server } from "socket.io";
import { collectOnSignal } from "./shared/collect.ts";
import { handle } from "./shared/socket-io.ts";

collectOnSignal();
const engine = new Engine({ path: "/socket.io/" });
const io = new Server();
io.bind(engine);
handle(io);

const { port } = Bun.serve({ ...engine.handler(), port: 0, hostname: "127.0.0.1" });
console.log(JSON.stringify({ port }));
