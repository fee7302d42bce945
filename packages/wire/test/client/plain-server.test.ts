/** The client and a WebSocket server that does not know wire, on Node. */
import { wsClient } from "@halyard/wire/client";
import { message, rpc, z } from "@halyard/wire/zod";
import { describe, expect, onTestFinished, test } from "vitest";
import { WebSocketServer, WebSocket as WsSocket } from "ws";

const Echo = rpc("ECHO", { n: z.number() }, "ECHOED", { n: z.number() });
const News = message("NEWS", { text: z.string() });

/** Selects no subprotocol, or the first that is offered, as `ws` does by default. Resolves to its URL. */
async function plainServer(selects: "none" | "first"): Promise<string> {
  const server = new WebSocketServer({
    port: 0,
    host: "127.0.0.1",
    ...(selects === "none" && { handleProtocols: () => false as const }),
  });
  onTestFinished(() => void server.close());
  await new Promise((resolve) => server.once("listening", resolve));
  server.on("connection", (socket) => {
    socket.send(JSON.stringify({ type: "NEWS", meta: {}, payload: { text: "hello" } }));
    socket.on("message", (data) => {
      const { meta, payload } = JSON.parse(String(data));
      const answer = { type: "ECHOED", meta: { correlationId: meta.correlationId }, payload };
      socket.send(JSON.stringify(answer));
    });
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The server has no port.");
  return `ws://127.0.0.1:${address.port}`;
}

const OFFERING = {
  "the platform's WebSocket": undefined,
  ws: (url: string, protocols?: string | string[]) => new WsSocket(url, protocols) as never,
};
const OFFERING_NONE = {
  "the platform's WebSocket": (url: string) => new WebSocket(url),
  ws: (url: string) => new WsSocket(url) as never,
};

describe.each(["none", "first"] as const)("a server that selects %s of the subprotocols", (selects) => {
  test.each(Object.entries(OFFERING))(
    "is no server for a client that offers wire's with %s",
    async (_, wsFactory) => {
      const url = await plainServer(selects);
      const client = wsClient({ url, reconnect: { enabled: false }, ...(wsFactory && { wsFactory }) });
      client.onError(() => undefined);
      // Only a server that selects another subprotocol keeps the client waiting.
      const [timeoutMs, code] = selects === "none" ? [10_000, "UNAVAILABLE"] : [500, "DEADLINE_EXCEEDED"];
      await expect(client.connect({ timeoutMs })).rejects.toMatchObject({ code });
      expect(client.state).toBe("closed");
    },
  );

  test.each(Object.entries(OFFERING_NONE))(
    "answers a client that offers none with %s",
    async (_, wsFactory) => {
      const client = wsClient({ url: await plainServer(selects), wsFactory });
      onTestFinished(() => client.close());
      const news = new Promise((resolve) => client.on(News, resolve));
      await client.connect();
      expect(await news).toEqual({ text: "hello" });
      expect((await client.request(Echo, { n: 1 })).payload).toEqual({ n: 1 });
    },
  );
});
