/** Loads the peer dependency `ws`. Not a static import, because its failure could not be explained. */
import type { WebSocketServer } from "ws";
import type { FlushingWebSocket, listen, NodeSocket } from "./node-socket.ts";

/** The classes of `ws`, and those that extend them. */
export interface WsLibrary {
  readonly WebSocketServer: typeof WebSocketServer;
  readonly FlushingWebSocket: typeof FlushingWebSocket;
  readonly NodeSocket: typeof NodeSocket;
  readonly listen: typeof listen;
}

/** Rejects with the command to run when `ws` is not installed. */
export async function loadWs(): Promise<WsLibrary> {
  try {
    const { WebSocketServer } = await import("ws");
    const { checkUnfinishedMessages, FlushingWebSocket, listen, NodeSocket } = await import(
      "./node-socket.ts"
    );
    checkUnfinishedMessages();
    return { WebSocketServer, FlushingWebSocket, listen, NodeSocket };
  } catch (error) {
    if (!isMissing(error)) throw error;
    throw new Error(
      'The package "ws" is not installed, but @halyard/wire/node uses it for WebSockets. Run: npm install ws',
      { cause: error },
    );
  }
}

function isMissing(error: unknown): boolean {
  const { code, message } = error as { code?: unknown; message?: unknown };
  return code === "ERR_MODULE_NOT_FOUND" && /package 'ws'/.test(String(message));
}
