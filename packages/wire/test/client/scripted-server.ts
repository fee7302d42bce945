/** A server without Halyard code that sends what a test commands and reports what it received. Node only. */
import type { IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";
import type { Received, Script } from "./script.ts";

const SUBPROTOCOL = "halyard.v1.json";

export class ScriptedServer {
  readonly received: Received = { connections: [], frames: [], closes: [] };
  readonly #script: Script;
  readonly #sockets: WebSocket[] = [];
  readonly #server: WebSocketServer;

  private constructor(script: Script) {
    this.#script = script;
    this.#server = new WebSocketServer({
      port: script.port ?? 0,
      host: "127.0.0.1",
      handleProtocols: (offered) =>
        script.protocol ?? (offered.has(SUBPROTOCOL) ? SUBPROTOCOL : ([...offered][0] ?? false)),
    });
    this.#server.on("connection", (socket, request) => this.#connected(socket, request));
  }

  static async start(script: Script): Promise<ScriptedServer> {
    const server = new ScriptedServer(script);
    await new Promise<void>((resolve, reject) => {
      server.#server.once("listening", resolve).once("error", reject);
    });
    return server;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  deliver(nth: number, type: string, payload?: unknown, meta: object = {}): void {
    this.raw(nth, JSON.stringify({ type, meta, payload }));
  }

  raw(nth: number, frame: string): void {
    this.#sockets.at(nth)?.send(frame);
  }

  binary(nth: number): void {
    this.#sockets.at(nth)?.send(Buffer.from([1, 2, 3]));
  }

  close(nth: number, code: number, reason: string): void {
    this.#sockets.at(nth)?.close(code, reason);
  }

  terminate(nth: number): void {
    this.#sockets.at(nth)?.terminate();
  }

  async stop(): Promise<void> {
    for (const socket of this.#server.clients) socket.terminate();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #connected(socket: WebSocket, request: IncomingMessage): void {
    const nth = this.#sockets.push(socket) - 1;
    this.received.connections.push({
      url: request.url ?? "",
      protocols: (request.headers["sec-websocket-protocol"] ?? "").split(",").map((name) => name.trim()),
      at: performance.now(),
    });
    socket.on("error", () => undefined);
    socket.on("close", (code, reason) => this.received.closes.push({ nth, code, reason: String(reason) }));
    socket.on("message", (data) => this.#received(socket, nth, String(data)));
    const { refuse, hello = {}, lifeMs } = this.#script;
    if (refuse && nth < (refuse.times ?? Number.POSITIVE_INFINITY))
      return refuse.code === 1006 ? socket.terminate() : socket.close(refuse.code, refuse.reason);
    if (hello) {
      const payload = {
        v: 1,
        clientId: `client-${nth}`,
        heartbeatMs: 0,
        maxPayloadBytes: 1_000_000,
        ...hello,
      };
      this.deliver(nth, "$ws:hello", payload, { timestamp: Date.now() });
    }
    if (lifeMs !== undefined) setTimeout(() => socket.terminate(), lifeMs);
  }

  #received(socket: WebSocket, nth: number, data: string): void {
    const frame = JSON.parse(data);
    this.received.frames.push({ nth, ...frame });
    if (this.#script.mute) return;
    if (frame.type === "$ws:ping") return this.deliver(nth, "$ws:pong");
    const answer = this.#script.answers?.[frame.type];
    if (answer === undefined) return;
    const { correlationId } = frame.meta;
    for (const data of answer.progress ?? []) this.deliver(nth, "$ws:rpc-progress", data, { correlationId });
    const { type } = answer;
    if (type === undefined) return;
    const reply = (): void => {
      if (socket.readyState === socket.OPEN)
        this.deliver(nth, type, answer.payload ?? frame.payload, { timestamp: Date.now(), correlationId });
    };
    if (answer.afterMs === undefined) reply();
    else setTimeout(reply, answer.afterMs);
  }
}
