/** A raw peer for the adapter suites: it sees every frame, header and close code, and may misbehave. */
import { randomBytes } from "node:crypto";
import { request as httpRequest, type IncomingHttpHeaders, type OutgoingHttpHeaders } from "node:http";
import type { Socket } from "node:net";
import { WebSocket } from "ws";

export const HALYARD = "halyard.v1.json";

const DEADLINE_MS = 10_000;
/** Where something happens between any two frames, many of them take their time. */
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
  /** Whether WebSocket pings are answered. Default true. */
  readonly autoPong?: boolean;
}

const connected = new Set<Peer>();

/** What happens on a server between any two frames it is sent, by the server's host. */
const interludes = new Map<string, (act: () => Promise<void>) => Promise<void>>();

/** Hosts whose peers speak first. */
const expectant = new Set<string>();

/**
 * Has every peer of this server send a ping at once. The engine of Durable Objects ends the network connection of a peer
 * that never sent a message only when the object goes, though its close frame is there at once.
 */
export function speakFirst(url: string): void {
  expectant.add(new URL(url).host);
}

/** Has `step` done before every frame and upgrade for this server; one frame at a time, whoever sends it. */
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

  /** Resolves once the upgrade is done; rejects when it is refused. */
  opened(): Promise<this> {
    return new Promise((resolve, reject) => {
      this.#socket.once("open", () => resolve(this));
      this.#socket.once("error", reject);
    });
  }

  /** Of the response to the upgrade. */
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

  /** Bytes go out as a binary frame unless said otherwise. */
  sendRaw(data: string | Uint8Array, binary: boolean = typeof data !== "string"): void {
    this.#between(() => this.#socket.send(data, { binary }));
  }

  /** Does it now, or after what is to happen between two frames; the next one waits until the server has got this. */
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

  /** Past the WebSocket, straight to the network. */
  sendBytes(bytes: Uint8Array): void {
    this.#tcp?.write(bytes);
  }

  /** The same, resolved once the network has taken it or the connection is gone. */
  write(bytes: Uint8Array): Promise<void> {
    const tcp = this.#tcp;
    if (tcp === undefined || tcp.destroyed) return Promise.resolve();
    return new Promise((resolve) => tcp.write(bytes, () => resolve()));
  }

  get isClosed(): boolean {
    return this.#tcp?.destroyed ?? false;
  }

  /** One message, in as many frames as there are parts. */
  sendFragments(parts: readonly string[]): void {
    this.#between(() => {
      for (const [i, part] of parts.entries()) this.#socket.send(part, { fin: i === parts.length - 1 });
    });
  }

  /** The next frame that was not read yet, of this type if one is given; frames before it count as read. */
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
    if (frame === undefined) throw new Error("unreachable: the frame was just found");
    return frame;
  }

  /** Sends a request and resolves to its terminal frame, wherever it is among the others. */
  async request(type: string, payload?: unknown, meta: Record<string, unknown> = {}): Promise<Frame> {
    const correlationId = String(meta["correlationId"] ?? `r${++this.#lastId}`);
    this.send(type, payload, { ...meta, correlationId });
    return await this.answer(correlationId);
  }

  /** The terminal frame of a request. */
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

  /** Goes away without a word. */
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
        const found = find();
        if (found !== undefined) finish(() => resolve(found));
      };
      const timer = setTimeout(() => {
        const seen = this.frames.map((frame) => frame.type).join(", ");
        finish(() => reject(new Error(`Waited ${deadlineMs} ms for ${what}, in vain; got: ${seen}`)));
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
    // Who has to wait to be let in must not keep the others from saying so.
    await Promise.race([opening.catch(() => undefined), new Promise((resolve) => setTimeout(resolve, 300))]);
  });
  if (opening === undefined) throw new Error("unreachable: the peer was just made");
  return await opening;
}

/** Connects as a halyard peer and reads the greeting. */
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

/** The bare upgrade request, and what the server says to it: for what a WebSocket client would not send or accept. */
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
