/** A Socket.IO server, the same on every runtime. */
import type { Server } from "socket.io";

export function handle(server: Server): void {
  server.on("connection", (socket) => {
    socket.on("echo", (payload: unknown, reply: (payload: unknown) => void) => reply(payload));
    socket.on("sub", () => socket.join("t"));
    socket.on("pub", (payload: unknown) => server.to("t").emit("evt", payload));
  });
}
