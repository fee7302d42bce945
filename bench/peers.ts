/** Other libraries on the runtimes that each supports. */
import { bunServer, type Dialect, nodeServer, type Server } from "./server.ts";

const SOCKET_IO: Dialect = { protocol: "sio", path: "/socket.io/?EIO=4&transport=websocket" };
const TRPC: Dialect = { protocol: "trpc", path: "/" };

export const nodePeers: readonly Server[] = [
  { ...nodeServer("Socket.IO", import.meta.resolve("./servers/node-socket-io.ts")), dialect: SOCKET_IO },
  { ...nodeServer("tRPC", import.meta.resolve("./servers/node-trpc.ts")), dialect: TRPC },
];

export const bunPeers: readonly Server[] = [
  bunServer("Elysia", import.meta.resolve("./servers/bun-elysia.ts")),
  { ...bunServer("Socket.IO", import.meta.resolve("./servers/bun-socket-io.ts")), dialect: SOCKET_IO },
  bunServer("ws-kit", import.meta.resolve("./servers/bun-ws-kit.ts")),
];
