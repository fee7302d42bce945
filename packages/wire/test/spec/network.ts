/** A router on a real port, and raw WebSocket peers that see every frame: for what only a network shows. */
import { onTestFinished, vi } from "vitest";
import { WebSocket } from "ws";
import { type ServeOptions, type ServerHandle, serve } from "../../src/adapters/node.ts";
import type { ConnectionData, Router } from "../../src/index.ts";
import type { TestFrame } from "../../src/testing/index.ts";

// `serve` says once that the heartbeat is off; here that is meant.
vi.spyOn(console, "info").mockImplementation(() => undefined);

export const SUBPROTOCOL = "halyard.v1.json";

export interface OpenOptions {
  /** Default: ours. */
  readonly protocols?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
  readonly origin?: string;
  readonly path?: string;
  readonly autoPong?: boolean;
}

export interface RunningServer {
  readonly handle: ServerHandle;
  /** Starts to open a connection, whatever becomes of it. */
  open(options?: OpenOptions): RawPeer;
  /** Opens a connection that must succeed; resolves once it may speak. */
  connect(options?: OpenOptions): Promise<RawPeer>;
}

/** What became of an upgrade: the connection is there, or the server answered with a status. */
type Outcome = "open" | number;

export class RawPeer {
  readonly socket: WebSocket;
  readonly frames: TestFrame[] = [];
  readonly outcome: Promise<Outcome>;
  readonly closed: Promise<{ code: number; reason: string }>;
  /** Headers of the answer to the upgrade, accepted or not. */
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
    // A test that does not ask for the outcome must not fail by it.
    this.outcome.catch(() => undefined);
    this.socket.on("error", () => undefined);
    this.closed = new Promise((resolve) => {
      this.socket.once("close", (code, reason) => resolve({ code, reason: reason.toString() }));
    });
  }

  send(frame: unknown): void {
    this.socket.send(JSON.stringify(frame));
  }

  /** The first frame of this type, once it is there. */
  frame(type: string): Promise<TestFrame> {
    return vi.waitFor(
      () => {
        const found = this.frames.find((frame) => frame.type === type);
        if (found === undefined) throw new Error(`no ${type} among ${JSON.stringify(this.frames)}`);
        return found;
      },
      { timeout: 10_000, interval: 5 },
    );
  }

  /** The answer to a request. */
  async ask(type: string, payload?: unknown): Promise<TestFrame> {
    const correlationId = crypto.randomUUID();
    this.send({ type, meta: { correlationId }, payload });
    return vi.waitFor(
      () => {
        const found = this.frames.find((frame) => frame.meta["correlationId"] === correlationId);
        if (found === undefined) throw new Error(`no answer to ${type}`);
        return found;
      },
      { timeout: 10_000, interval: 5 },
    );
  }

  /** Everything the server sent until now has arrived. */
  async caughtUp(): Promise<void> {
    const before = this.frames.filter((frame) => frame.type === "$ws:pong").length;
    this.send({ type: "$ws:ping" });
    await vi.waitFor(
      () => {
        const pongs = this.frames.filter((frame) => frame.type === "$ws:pong").length;
        if (pongs === before) throw new Error("no pong");
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
  const handle = await serve(router, { port: 0, host: "127.0.0.1", handleSignals: false, ...options });
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
      if (outcome !== "open") throw new Error(`the server answered ${outcome}`);
      if ((openOptions?.protocols ?? [SUBPROTOCOL]).includes(SUBPROTOCOL)) await peer.frame("$ws:hello");
      return peer;
    },
  };
}
