/** Our client runs the conformance cases of the protocol. */
import { once } from "node:events";
import { afterEach, describe, expect, test } from "vitest";
import { type RawData, type WebSocket, WebSocketServer } from "ws";
import type { WsClient } from "../src/client/index.ts";
import { joinChannel, wsClient } from "../src/client/zod.ts";
import { Greet, Room, Said } from "./fixtures/conformance/application.ts";
import { Memory, matches, readCases, type Step } from "./fixtures/conformance/cases.ts";

const POLL = { timeout: 10_000, interval: 5 };
const HELLO = {
  type: "$ws:hello",
  meta: { timestamp: 1 },
  payload: { v: 1, clientId: "client-1", heartbeatMs: 0, timeoutMs: 5_000, maxPayloadBytes: 1_000_000 },
};

interface Call {
  readonly outcome: Promise<{ readonly resolved?: unknown; readonly rejected?: unknown }>;
  readonly progress: unknown[];
}

/** A server that only does what a case says. */
class ScriptedServer {
  readonly #server = new WebSocketServer({
    host: "127.0.0.1",
    port: 0,
    handleProtocols: () => "halyard.v1.json",
  });
  readonly frames: unknown[] = [];
  connections = 0;
  #socket: WebSocket | undefined;

  constructor() {
    this.#server.on("connection", (socket) => {
      this.connections++;
      this.#socket = socket;
      socket.on("message", (data: RawData) => {
        const frame = JSON.parse(String(data)) as { type: string };
        if (frame.type !== "$ws:ping") this.frames.push(frame);
      });
      socket.send(JSON.stringify(HELLO));
    });
  }

  async port(): Promise<number> {
    if (this.#server.address() === null) await once(this.#server, "listening");
    const address = this.#server.address();
    return typeof address === "object" && address !== null ? address.port : 0;
  }

  send(text: string): void {
    this.#socket?.send(text);
  }

  close(code: number): void {
    if (code === 1006) this.#socket?.terminate();
    else this.#socket?.close(code);
  }

  stop(): void {
    for (const socket of this.#server.clients) socket.terminate();
    this.#server.close();
  }
}

let server: ScriptedServer | undefined;
let client: WsClient | undefined;
afterEach(async () => {
  await client?.close();
  server?.stop();
});

async function run(steps: readonly Step[]): Promise<void> {
  const scripted = new ScriptedServer();
  server = scripted;
  const ours = wsClient({
    url: `ws://127.0.0.1:${await scripted.port()}`,
    reconnect: { initialDelayMs: 10, maxDelayMs: 20 },
  });
  client = ours;
  ours.onError(() => undefined);
  await ours.connect();
  const memory = new Memory();
  const calls = new Map<string, Call>();
  const given: string[] = [];
  let connectionsBefore = 0;
  let room: ReturnType<typeof joinChannel<typeof Room>> | undefined;

  const request = (name: string, payload: unknown): void => {
    const progress: unknown[] = [];
    const call = ours.request(Greet, payload as { name: string });
    const outcome = call.then(
      (resolved) => ({ resolved }),
      (rejected: unknown) => ({ rejected }),
    );
    call.onProgress((item) => void progress.push(item));
    calls.set(name, { outcome, progress });
  };
  const join = (params: unknown, options: unknown): void => {
    room = joinChannel(ours, Room, params as { id: string }, options as { last?: number });
    room.joined.catch(() => undefined);
    room.on(Said, ({ text }) => void given.push(text));
    room.onGap(() => void given.push("gap"));
  };

  for (const step of steps) {
    const [action, first, second] = memory.fill(step) as Step;
    if (action === "frame") scripted.send(JSON.stringify(first));
    else if (action === "text") scripted.send(String(first));
    else if (action === "close") {
      connectionsBefore = scripted.connections;
      scripted.close(Number(first));
    } else if (action === "request") request(String(first), (second as { payload: unknown }).payload);
    else if (action === "got") {
      await expect.poll(() => scripted.frames.length, POLL).toBeGreaterThan(0);
      const frame = scripted.frames.shift();
      if (!matches(frame, first)) expect(frame).toEqual(first);
      memory.remember(step[2], frame);
    } else if (action === "resolved" || action === "rejected") {
      const outcome = await calls.get(String(first))?.outcome;
      const result = outcome?.[action];
      if (!matches(result, second)) expect(outcome).toEqual({ [action]: second });
    } else if (action === "progress") expect(calls.get(String(first))?.progress).toEqual(second);
    else if (action === "join") join(first, second);
    else if (action === "leave") room?.leave();
    else if (action === "state") await expect.poll(() => room?.state, POLL).toBe(first);
    else if (action === "given") {
      // What was sent before this frame has arrived when it is echoed.
      scripted.send(JSON.stringify({ type: "$ws:sync", meta: { timestamp: 1 }, payload: { id: "given" } }));
      await expect.poll(() => scripted.frames.some(isEcho), POLL).toBe(true);
      scripted.frames.splice(scripted.frames.findIndex(isEcho), 1);
      expect(given).toEqual(first);
    } else if (action === "reconnected") {
      const isOpen = () => ours.isConnected && scripted.connections > connectionsBefore;
      await expect.poll(isOpen, POLL).toBe(true);
    } else if (action === "ended") await expect.poll(() => ours.state, POLL).toBe("closed");
    else throw new Error(`Unknown step ${action}.`);
  }
}

function isEcho(frame: unknown): boolean {
  return matches(frame, { type: "$ws:synced", payload: { id: "given" } });
}

describe("our client", () => {
  const cases = readCases("client.json");
  test("has cases", () => expect(cases.length).toBeGreaterThan(80));
  test.each(cases)("$name", ({ steps }) => run(steps));
});
