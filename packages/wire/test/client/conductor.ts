/** Starts scripted servers for tests in other runtimes (Bun, a browser), which control them over a WebSocket. Node only. */
import type { AddressInfo } from "node:net";
import { WebSocketServer } from "ws";
import type { Command } from "./script.ts";
import { ScriptedServer } from "./scripted-server.ts";

export interface Conductor {
  readonly url: string;
  stop(): Promise<void>;
}

export async function startConductor(): Promise<Conductor> {
  const servers = new Map<number, ScriptedServer>();
  const control = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  await new Promise<void>((resolve) => control.once("listening", () => resolve()));
  control.on("connection", (socket) => {
    socket.on("message", (data) => {
      const { id, command } = JSON.parse(String(data)) as { id: number; command: Command };
      obey(servers, command).then(
        (result) => socket.send(JSON.stringify({ id, result })),
        (error: unknown) => socket.send(JSON.stringify({ id, error: String(error) })),
      );
    });
  });
  return {
    url: `ws://127.0.0.1:${(control.address() as AddressInfo).port}`,
    async stop() {
      for (const socket of control.clients) socket.terminate();
      control.close();
      await Promise.all([...servers.values()].map((server) => server.stop()));
    },
  };
}

async function obey(servers: Map<number, ScriptedServer>, command: Command): Promise<unknown> {
  if (command.do === "start") {
    const started = await ScriptedServer.start(command.script);
    const { port } = started;
    servers.set(port, started);
    return port;
  }
  const server = servers.get(command.port);
  if (server === undefined) throw new Error(`No server on port ${command.port}.`);
  switch (command.do) {
    case "received":
      return server.received;
    case "deliver":
      return server.deliver(command.nth, command.type, command.payload, command.meta);
    case "raw":
      return server.raw(command.nth, command.frame);
    case "binary":
      return server.binary(command.nth);
    case "close":
      return server.close(command.nth, command.code, command.reason);
    case "terminate":
      return server.terminate(command.nth);
    case "stop":
      servers.delete(command.port);
      return server.stop();
  }
}
