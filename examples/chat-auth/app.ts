/** One HTTP server for Better Auth and the chat's WebSocket. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { DatabaseSync } from "node:sqlite";
import { createNodeHandler } from "@halyard/wire/node";
import { toNodeHandler } from "better-auth/node";
import { createAuth } from "./auth.ts";
import { createChat } from "./chat.ts";

export interface App {
  readonly url: string;
  stop(): Promise<void>;
}

/** Port 0 selects a free one. */
export async function startApp(file: string, port: number): Promise<App> {
  const http = createServer();
  await new Promise<void>((resolve) => http.listen(port, "localhost", resolve));
  const url = `http://localhost:${(http.address() as AddressInfo).port}`;
  const database = new DatabaseSync(file);
  const auth = await createAuth(database, url);
  const { router, authenticate } = createChat(auth);
  const sockets = createNodeHandler(router, { path: "/ws", authenticate });
  const handle = toNodeHandler(auth);
  http.on("request", (request, response) => void handle(request, response));
  http.on("upgrade", sockets.upgrade);
  return {
    url,
    async stop() {
      await sockets.stop();
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
      database.close();
    },
  };
}
