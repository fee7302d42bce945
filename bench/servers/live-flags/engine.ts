/** The sockets of Node or Bun below wire: which frames they were given, and the same frames without wire. */
import { createServer } from "node:http";
import { type AddressInfo, Socket } from "node:net";
import type { Router } from "@halyard/wire";
import type { SessionAuthenticator, SessionData, SessionFields } from "@halyard/wire/better-auth";

/** A database in memory that Better Auth can use. */
export interface MemoryDatabase {
  prepare(sql: string): { run(...values: (string | number)[]): unknown };
}

export interface Engine {
  readonly port: number;
  /** Resolves when this many sockets have a frame with a flag, and all bytes have left this process. */
  recordNext(count: number): Promise<ReadonlyMap<object, string>>;
  /** Sends each socket its frame, without wire. */
  sendBare(frames: ReadonlyMap<object, string>): Promise<void>;
}

type Authenticate = SessionAuthenticator<SessionFields>;
/** Handles a request of the load generator. */
type Control = (path: string, count: number) => Promise<object>;
type Send = (this: object, frame: string, ...rest: unknown[]) => unknown;
type Write = (this: object, chunk: string | Uint8Array, ...rest: unknown[]) => boolean;

/** Of a WebSocket frame without a mask. */
const MAX_HEADER_BYTES = 10;

function headerLength(frame: Uint8Array): number {
  const short = frame[1] ?? 0;
  return short < 126 ? 2 : short === 126 ? 4 : MAX_HEADER_BYTES;
}

interface BunSocket {
  send: Send;
}
interface BunServer {
  readonly port: number;
}
declare const Bun: { serve(options: object): BunServer } | undefined;

const isBun = typeof Bun !== "undefined";

export async function openDatabase(): Promise<MemoryDatabase> {
  if (!isBun) return new (await import("node:sqlite")).DatabaseSync(":memory:");
  const { Database } = (await import("bun:sqlite" as string)) as {
    Database: new (path: string) => MemoryDatabase;
  };
  return new Database(":memory:");
}

/** Records what the engine is given, by wire and without it. */
class Recorder {
  #frames = new Map<object, string>();
  #missing = 0;
  #done: (() => void) | undefined;

  /** Takes the place of `send` of the engine's sockets. */
  wrap(prototype: { send: Send }): void {
    const { send } = prototype;
    const record = (socket: object, frame: string): void => this.#record(socket, frame);
    prototype.send = function sendRecorded(frame, ...rest) {
      if (typeof frame === "string") record(this, frame);
      return send.call(this, frame, ...rest);
    };
  }

  /** The same on Node, where wire writes a frame that many sockets get to the TCP sockets. */
  wrapWrites(prototype: { send: Send }, tcp: { write: Write }): void {
    const { send } = prototype;
    const { write } = tcp;
    const websockets = new WeakMap<object, object>();
    let last: { readonly bytes: Uint8Array; readonly frame: string } | undefined;
    const frameOf = (bytes: Uint8Array): string => {
      if (last?.bytes !== bytes)
        last = { bytes, frame: Buffer.from(bytes).subarray(headerLength(bytes)).toString() };
      return last.frame;
    };
    const record = (socket: object, chunk: string | Uint8Array): void => {
      const websocket = this.#missing > 0 ? websockets.get(socket) : undefined;
      // Shorter ones are the header of a frame whose text follows.
      if (websocket === undefined || chunk.length <= MAX_HEADER_BYTES) return;
      this.#record(websocket, typeof chunk === "string" ? chunk : frameOf(chunk));
    };
    // Every connection gets its values with it, before any change.
    prototype.send = function sendRegistered(this: { _socket?: object }, frame, ...rest) {
      if (this._socket !== undefined) websockets.set(this._socket, this);
      return send.call(this, frame, ...rest);
    };
    tcp.write = function writeRecorded(chunk, ...rest) {
      record(this, chunk);
      return write.call(this, chunk, ...rest);
    };
  }

  #record(socket: object, frame: string): void {
    if (!frame.includes('"flag:updated"')) return;
    this.#frames.set(socket, frame);
    this.#missing -= 1;
    if (this.#missing === 0) this.#done?.();
  }

  async next(count: number): Promise<ReadonlyMap<object, string>> {
    this.#frames = new Map();
    this.#missing = count;
    await new Promise<void>((resolve) => {
      this.#done = resolve;
    });
    // Frames of one turn leave together, at its end.
    await turn();
    return this.#frames;
  }

  /** Recorded as well, so that both sides pay for it. */
  async send(frames: ReadonlyMap<object, string>): Promise<void> {
    const written = this.next(frames.size);
    for (const [socket, frame] of frames) (socket as { send: Send }).send(frame);
    await written;
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

export async function startEngine(
  router: Router<SessionData>,
  authenticate: Authenticate,
  control: Control,
): Promise<Engine> {
  const recorder = new Recorder();
  const port = await (isBun ? serveBun : serveNode)(router, authenticate, control, recorder);
  return {
    port,
    recordNext: (count) => recorder.next(count),
    sendBare: (frames) => recorder.send(frames),
  };
}

async function serveNode(
  router: Router<SessionData>,
  authenticate: Authenticate,
  control: Control,
  recorder: Recorder,
): Promise<number> {
  const { createNodeHandler } = await import("@halyard/wire/node");
  const { WebSocket } = await import("ws");
  recorder.wrapWrites(
    WebSocket.prototype as unknown as { send: Send },
    Socket.prototype as unknown as { write: Write },
  );
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://localhost");
    void control(pathname, Number(searchParams.get("count"))).then(
      (result) => response.end(JSON.stringify(result)),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  server.on("upgrade", createNodeHandler(router, { path: "/live", authenticate }).upgrade);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

async function serveBun(
  router: Router<SessionData>,
  authenticate: Authenticate,
  control: Control,
  recorder: Recorder,
): Promise<number> {
  if (typeof Bun === "undefined") throw new Error("This is not Bun.");
  const { createBunHandler } = await import("@halyard/wire/bun");
  const handler = createBunHandler(router, { authenticate });
  let isWrapped = false;
  const { port } = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    // A change of a segment takes longer than Bun's default.
    idleTimeout: 255,
    websocket: {
      ...handler.websocket,
      open(socket: BunSocket & never) {
        if (!isWrapped) recorder.wrap(Object.getPrototypeOf(socket));
        isWrapped = true;
        return handler.websocket.open?.(socket);
      },
    },
    async fetch(request: Request, server: never) {
      const { pathname, searchParams } = new URL(request.url);
      if (pathname === "/live") return handler.fetch(request, server);
      return Response.json(await control(pathname, Number(searchParams.get("count"))));
    },
  });
  return port;
}
