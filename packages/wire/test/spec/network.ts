/** A router on a real port, and raw WebSocket peers that record every frame. */
import { onTestFinished, vi } from "vitest";
import { WebSocket } from "ws";
import { type ServeOptions, type ServerHandle, serve } from "../../src/adapters/node.ts";
import type { ConnectionData, Router } from "../../src/index.ts";
import type { TestFrame } from "../../src/testing/index.ts";

// `serve` logs once that the heartbeat is off, as these tests intend.
vi.spyOn(console, "info").mockImplementation(() => undefined);

export const SUBPROTOCOL = "halyard.v1.json";

export interface OpenOptions {
  /** Default: halyard.v1.json. */
  readonly protocols?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
  readonly origin?: string;
  readonly path?: string;
  readonly autoPong?: boolean;
}

export interface RunningServer {
  readonly handle: ServerHandle;
  /** Starts to open a connection that may fail. */
  open(options?: OpenOptions): RawPeer;
  /** Opens a connection that must succeed, and resolves once it can send. */
  connect(options?: OpenOptions): Promise<RawPeer>;
}

/** The result of an upgrade: "open", or the HTTP status of the refusal. */
type Outcome = "open" | number;

export class RawPeer {
  readonly socket: WebSocket;
  readonly frames: TestFrame[] = [];
  readonly outcome: Promise<Outcome>;
  readonly closed: Promise<{ code: number; reason: string }>;
  /** Headers of the upgrade response. */
  headers: Readonly<Record<string, string | string[] | undefined>> = {};

  constructor(port: number, options: OpenOptions = {}) {
    const { protocols = [SUBPROTOCOL], path = "/", ...rest } = options;
    this.socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, [...protocols], rest);
    this.socket.on("message", (data) => this.frames.push(JSON.parse(String(data))));
    this.socket.on("upgrade", (response) => {
      this.headers = response.headers;
    });
    this.outcome = new Promise((resolve, reject) => {
      this.socket.once("open", () => resolve("open"));
      this.socket.once("error", reject);
      this.socket.once("unexpected-response", (request, response) => {
        this.headers = response.headers;
        resolve(response.statusCode ?? 0);
        response.resume();
        request.destroy();
      });
    });
    // A test that does not await the outcome must not fail because of it.
    this.outcome.catch(() => undefined);
    this.socket.on("error", () => undefined);
    this.closed = new Promise((resolve) => {
      this.socket.once("close", (code, reason) => resolve({ code, reason: reason.toString() }));
    });
  }

  send(frame: unknown): void {
    this.socket.send(JSON.stringify(frame));
  }

  /** Resolves to the first frame of this type. */
  frame(type: string): Promise<TestFrame> {
    return vi.waitFor(
      () => {
        const frame = this.frames.find((received) => received.type === type);
        if (frame === undefined) throw new Error(`no ${type} among ${JSON.stringify(this.frames)}`);
        return frame;
      },
      { timeout: 10_000, interval: 5 },
    );
  }

  /** Resolves to the response to a request. */
  async ask(type: string, payload?: unknown): Promise<TestFrame> {
    const correlationId = crypto.randomUUID();
    this.send({ type, meta: { correlationId }, payload });
    return vi.waitFor(
      () => {
        const frame = this.frames.find(({ meta }) => meta["correlationId"] === correlationId);
        if (frame === undefined) throw new Error(`The server sent no response to ${type}`);
        return frame;
      },
      { timeout: 10_000, interval: 5 },
    );
  }

  /** Resolves once everything that the server has sent so far has arrived. */
  async caughtUp(): Promise<void> {
    const before = this.frames.filter((frame) => frame.type === "$ws:pong").length;
    this.send({ type: "$ws:ping" });
    await vi.waitFor(
      () => {
        const pongs = this.frames.filter((frame) => frame.type === "$ws:pong").length;
        if (pongs === before) throw new Error("The server sent no pong");
      },
      { timeout: 10_000, interval: 5 },
    );
  }
}

/** Serves the router on a free port until the test ends. */
export async function start<Data extends ConnectionData>(
  router: Router<Data>,
  options: ServeOptions<Data> = {},
): Promise<RunningServer> {
  const all = { port: 0, host: "127.0.0.1", handleSignals: false, ...options };
  // Tests may leave out `authenticate` for data with required members.
  const handle = await serve(router, ...([all] as never));
  const peers: RawPeer[] = [];
  onTestFinished(async () => {
    for (const peer of peers) peer.socket.terminate();
    await handle.stop();
  });
  const open = (openOptions?: OpenOptions): RawPeer => {
    const peer = new RawPeer(handle.port, openOptions);
    peers.push(peer);
    return peer;
  };
  return {
    handle,
    open,
    async connect(openOptions) {
      const peer = open(openOptions);
      const outcome = await peer.outcome;
      if (outcome !== "open") throw new Error(`The server refused the upgrade with ${outcome}`);
      if ((openOptions?.protocols ?? [SUBPROTOCOL]).includes(SUBPROTOCOL)) await peer.frame("$ws:hello");
      return peer;
    },
  };
}
