/** A raw peer for the adapter suites. It records every frame, header and close code, and it may violate the protocol. */
import { randomBytes } from "node:crypto";
import { request as httpRequest, type IncomingHttpHeaders, type OutgoingHttpHeaders } from "node:http";
import type { Socket } from "node:net";
import { WebSocket } from "ws";

export const HALYARD = "halyard.v1.json";

const DEADLINE_MS = 10_000;
/** Longer than usual, because a step between frames slows down a suite with many frames. */
const LONG_DEADLINE_MS = 15_000;

export interface Frame {
  readonly type: string;
  readonly meta: Readonly<Record<string, unknown>>;
  readonly payload?: unknown;
}

export interface Closed {
  readonly code: number;
  readonly reason: string;
}

export interface PeerOptions {
  readonly protocols?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether WebSocket pings are answered. Default: true. */
  readonly autoPong?: boolean;
}

const connected = new Set<Peer>();

/** The step that runs between any two frames to a server, by the server's host. */
const interludes = new Map<string, (act: () => Promise<void>) => Promise<void>>();

/** Hosts whose peers send the first frame. */
const expectant = new Set<string>();

/**
 * Makes every peer of this server send a ping immediately. The engine of Durable Objects ends the network connection of
 * a peer that never sent a message only when the object is evicted, although its close frame is sent immediately.
 */
export function speakFirst(url: string): void {
  expectant.add(new URL(url).host);
}

/** Runs `step` before every frame and upgrade for this server, one frame at a time over all peers. */
export function beforeEachFrame(url: string, step: () => Promise<void>): void {
  let last: Promise<void> = Promise.resolve();
  interludes.set(new URL(url).host, (act) => {
    last = last.then(step).then(act);
    return last;
  });
}

/** Ends every peer of the last test. */
export function disconnectAll(): void {
  for (const peer of connected) peer.terminate();
  connected.clear();
}

export class Peer {
  readonly frames: Frame[] = [];
  readonly closed: Promise<Closed>;
  readonly #socket: WebSocket;
  readonly #interlude: ((act: () => Promise<void>) => Promise<void>) | undefined;
  #headers: IncomingHttpHeaders = {};
  #tcp: Socket | undefined;
  #read = 0;
  #pings = 0;
  #lastId = 0;
  readonly #waiting = new Set<() => void>();

  constructor(url: string, { protocols = [], headers = {}, autoPong = true }: PeerOptions = {}) {
    this.#interlude = interludes.get(new URL(url).host);
    this.#socket = new WebSocket(url, [...protocols], { headers, autoPong });
    this.#socket.on("upgrade", (response) => {
      this.#headers = response.headers;
      this.#tcp = response.socket;
    });
    this.#socket.on("ping", () => this.#pings++);
    let isWaiting = expectant.has(new URL(url).host);
    if (isWaiting) this.#socket.on("open", () => this.#socket.send('{"type":"$ws:ping"}'));
    this.#socket.on("message", (data) => {
      const frame = JSON.parse(String(data)) as Frame;
      if (isWaiting && frame.type === "$ws:pong") {
        isWaiting = false;
        return;
      }
      this.frames.push(frame);
      for (const check of [...this.#waiting]) check();
    });
    this.closed = new Promise((resolve) => {
      this.#socket.on("close", (code, reason) => resolve({ code, reason: reason.toString() }));
    });
    connected.add(this);
  }

  /** Resolves once the upgrade is done. Rejects when it is refused. */
  opened(): Promise<this> {
    return new Promise((resolve, reject) => {
      this.#socket.once("open", () => resolve(this));
      this.#socket.once("error", reject);
    });
  }

  /** Headers of the upgrade response. */
  get headers(): IncomingHttpHeaders {
    return this.#headers;
  }

  get protocol(): string {
    return this.#socket.protocol;
  }

  get pings(): number {
    return this.#pings;
  }

  send(type: string, payload?: unknown, meta: Record<string, unknown> = {}): void {
    this.sendRaw(JSON.stringify({ type, meta, payload }));
  }

  /** Bytes are sent as a binary frame by default. */
  sendRaw(data: string | Uint8Array, binary: boolean = typeof data !== "string"): void {
    this.#between(() => this.#socket.send(data, { binary }));
  }

  /** Sends now or after the step between frames. The next frame waits until the server has received this one. */
  #between(act: () => void): void {
    if (this.#interlude === undefined) return act();
    void this.#interlude(async () => {
      if (this.#socket.readyState !== WebSocket.OPEN) return;
      act();
      if (this.#socket.readyState === WebSocket.OPEN) await Promise.race([this.ping(), this.closed]);
    });
  }

  /** Resolves to the data of the next pong. */
  ping(data = ""): Promise<string> {
    const pong = new Promise<string>((resolve) =>
      this.#socket.once("pong", (echo) => resolve(echo.toString())),
    );
    this.#socket.ping(data);
    return pong;
  }

  /** Writes to the TCP connection, past the WebSocket. */
  sendBytes(bytes: Uint8Array): void {
    this.#tcp?.write(bytes);
  }

  /** The same. Resolves once the bytes are written or the connection is closed. */
  write(bytes: Uint8Array): Promise<void> {
    const tcp = this.#tcp;
    if (tcp === undefined || tcp.destroyed) return Promise.resolve();
    return new Promise((resolve) => tcp.write(bytes, () => resolve()));
  }

  get isClosed(): boolean {
    return this.#tcp?.destroyed ?? false;
  }

  /** Sends one message with one frame per part. */
  sendFragments(parts: readonly string[]): void {
    this.#between(() => {
      for (const [i, part] of parts.entries()) this.#socket.send(part, { fin: i === parts.length - 1 });
    });
  }

  /** The next unread frame, of this type if one is given. Frames before it count as read. */
  async next(type?: string): Promise<Frame> {
    const find = () => {
      const at = this.frames.findIndex(
        (frame, i) => i >= this.#read && (type === undefined || frame.type === type),
      );
      return at === -1 ? undefined : at;
    };
    const at = await this.#until(find, `a frame${type === undefined ? "" : ` of type ${type}`}`);
    this.#read = at + 1;
    const frame = this.frames[at];
    if (frame === undefined) throw new Error("unreachable: the frame exists");
    return frame;
  }

  /** Sends a request and resolves to its terminal frame, in any position among other frames. */
  async request(type: string, payload?: unknown, meta: Record<string, unknown> = {}): Promise<Frame> {
    const correlationId = String(meta["correlationId"] ?? `r${++this.#lastId}`);
    this.send(type, payload, { ...meta, correlationId });
    return await this.answer(correlationId);
  }

  answer(correlationId: string): Promise<Frame> {
    const isAnswer = (frame: Frame) =>
      frame.meta["correlationId"] === correlationId && frame.type !== "$ws:rpc-progress";
    return this.#until(() => this.frames.find(isAnswer), `the answer to ${correlationId}`);
  }

  /** Stops reading from the network. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  close(code?: number, reason?: string): Promise<Closed> {
    this.#between(() => this.#socket.close(code, reason));
    return this.closed;
  }

  /** Closes the TCP connection without a close frame. */
  terminate(): void {
    // A peer that is still connecting reports its own end as an error.
    this.#socket.on("error", () => undefined);
    this.#socket.terminate();
  }

  #until<T>(find: () => T | undefined, what: string): Promise<T> {
    const deadlineMs = this.#interlude === undefined ? DEADLINE_MS : LONG_DEADLINE_MS;
    return new Promise((resolve, reject) => {
      const finish = (settle: () => void) => {
        clearTimeout(timer);
        this.#waiting.delete(check);
        settle();
      };
      const check = () => {
        const result = find();
        if (result !== undefined) finish(() => resolve(result));
      };
      const timer = setTimeout(() => {
        const seen = this.frames.map((frame) => frame.type).join(", ");
        finish(() => reject(new Error(`Waited ${deadlineMs} ms for ${what}. Frames received: ${seen}`)));
      }, deadlineMs);
      this.#waiting.add(check);
      check();
    });
  }
}

export async function connect(url: string, options?: PeerOptions): Promise<Peer> {
  const interlude = interludes.get(new URL(url).host);
  if (interlude === undefined) return await new Peer(url, options).opened();
  let opening: Promise<Peer> | undefined;
  await interlude(async () => {
    opening = new Peer(url, options).opened();
    // An upgrade that waits for admission must not block the other peers.
    await Promise.race([opening.catch(() => undefined), new Promise((resolve) => setTimeout(resolve, 300))]);
  });
  if (opening === undefined) throw new Error("unreachable: the peer was just made");
  return await opening;
}

/** Connects as a halyard peer and reads hello. */
export async function greeted(
  url: string,
  { protocols = [HALYARD], ...options }: PeerOptions = {},
): Promise<Peer & { readonly clientId: string }> {
  const peer = await connect(url, { protocols, ...options });
  const hello = await peer.next("$ws:hello");
  const { clientId } = hello.payload as { clientId: string };
  return Object.assign(peer, { clientId });
}

export interface HandshakeAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
}

/** Sends a bare upgrade request and returns the response, for what a WebSocket client would not send or accept. */
export function handshake(url: string, headers: OutgoingHttpHeaders = {}): Promise<HandshakeAnswer> {
  const { hostname, port, pathname, search } = new URL(url);
  return new Promise((resolve, reject) => {
    const request = httpRequest({
      hostname,
      port,
      path: pathname + search,
      headers: {
        connection: "Upgrade",
        upgrade: "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": randomBytes(16).toString("base64"),
        ...headers,
      },
    });
    request.setTimeout(DEADLINE_MS, () => request.destroy(new Error("The upgrade was not answered.")));
    request.on("error", reject);
    request.on("upgrade", (response, socket) => {
      socket.on("error", () => undefined).destroy();
      resolve({ status: response.statusCode ?? 0, headers: response.headers });
    });
    request.on("response", (response) => {
      response.resume();
      resolve({ status: response.statusCode ?? 0, headers: response.headers });
    });
    request.end();
  });
}
