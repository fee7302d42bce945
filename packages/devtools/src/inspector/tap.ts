/**
 * Sees the frames of a router's servers. It replaces methods of the sockets and connections of an observed router, so
 * that routers without an inspector run exactly the same code as before.
 */
import type { BroadcastMessage, Peer, Server, ServerObserver, ServerOptions, Socket } from "@halyard/wire";
import { CONTROL, topicsOf } from "@halyard/wire/unstable-devtools";
import type { RecordedFrame, Recorder } from "./recorder.ts";

type Connection = ReturnType<Server["accept"]>;

/** The text for the list: redacted, unless the options show it. */
export type DescribePayload = (type: string, payload: unknown) => string;

/** Of larger frames, only the size is recorded: reading them would take longer than handling them. */
const MAX_READ_LENGTH = 262_144;
/** Requests whose response is not seen yet; the oldest are dropped above this. */
const MAX_REQUESTS = 10_000;
const MAX_TYPE_LENGTH = 200;
/** The most connections and topics of one answer. */
const MAX_ROWS = 200;
const UNREADABLE = "(not readable)";
const LARGE = "(large frame)";

interface ConnectionCounts {
  readonly openedAt: number;
  received: number;
  /** Without published frames, which the platform may send to all subscribers at once. */
  sent: number;
}

/** A connection as the page shows it. */
export interface ConnectionRow {
  readonly clientId: string;
  readonly openedAt: number;
  readonly received: number;
  readonly sent: number;
  readonly bufferedBytes: number;
  readonly topics: number;
}

/** A topic as the page shows it. */
export interface TopicRow {
  readonly topic: string;
  readonly subscribers: number;
}

/** Rows, the first ones of `total`. */
export interface Rows<Row> {
  readonly total: number;
  readonly rows: readonly Row[];
}

export class Tap implements ServerObserver {
  readonly #recorder: Recorder;
  readonly #describe: DescribePayload;
  readonly #servers = new Set<Server>();
  readonly #counts = new WeakMap<object, ConnectionCounts>();
  /** When each request arrived, by connection and correlation id. */
  readonly #requests = new Map<string, number>();

  constructor(recorder: Recorder, describe: DescribePayload) {
    this.#recorder = recorder;
    this.#describe = describe;
  }

  attaching(options: ServerOptions): ServerOptions {
    return {
      ...options,
      onClose: (ws, code, reason) => {
        this.#event("close", ws, `${code}`, reason);
        return options.onClose?.(ws, code, reason);
      },
      onBroadcast: (message, topic) => {
        this.#published(message, topic);
        return options.onBroadcast?.(message, topic);
      },
    };
  }

  attached(server: Server): () => void {
    this.#servers.add(server);
    const accept = server.accept.bind(server);
    server.accept = (socket, data, options) => {
      const counts: ConnectionCounts = { openedAt: this.#recorder.now(), received: 0, sent: 0 };
      this.#recorder.add({ direction: "open", type: "open", clientId: data.clientId, size: 0, payload: "" });
      this.#watchSocket(socket, data.clientId, counts);
      const connection = accept(socket, data, options);
      this.#counts.set(connection, counts);
      const receive = connection.receive.bind(connection);
      connection.receive = (frame) => {
        counts.received++;
        this.#frame("in", connection.clientId, frame);
        receive(frame);
      };
      return connection;
    };
    return () => this.#servers.delete(server);
  }

  #watchSocket(socket: Socket, clientId: string, counts: ConnectionCounts): void {
    const send = socket.send.bind(socket);
    socket.send = (frame) => {
      counts.sent++;
      this.#frame("out", clientId, frame);
      return send(frame);
    };
    const share = socket.sendShared?.bind(socket);
    socket.sendShared = (frame) => {
      // Published frames are recorded once, as `topic`.
      if (frame.topic === "") {
        counts.sent++;
        this.#frame("out", clientId, frame.text);
      }
      return share === undefined ? send(frame.text) : share(frame);
    };
  }

  #frame(direction: "in" | "out", clientId: string, frame: string | Uint8Array): void {
    const size = frame.length;
    const unread = { direction, clientId, size, payload: "" };
    if (typeof frame !== "string") return this.#recorder.add({ ...unread, type: UNREADABLE });
    if (size > MAX_READ_LENGTH) return this.#recorder.add({ ...unread, type: LARGE });
    const envelope = parse(frame);
    if (envelope === undefined) return this.#recorder.add({ ...unread, type: UNREADABLE });
    const { type, correlationId, payload } = envelope;
    const durationMs = correlationId && this.#timed(direction, clientId, type, correlationId);
    this.#recorder.add({
      ...unread,
      type: type.slice(0, MAX_TYPE_LENGTH),
      payload: this.#describe(type, payload),
      ...(correlationId && { correlationId }),
      ...(typeof durationMs === "number" && { durationMs }),
    });
  }

  /** The time since the request, for the frame that ends it. */
  #timed(direction: "in" | "out", clientId: string, type: string, id: string): number | undefined {
    const key = `${clientId}\n${id}`;
    if (direction === "in") {
      if (!type.startsWith("$ws:")) this.#requests.set(key, this.#recorder.now());
      if (this.#requests.size > MAX_REQUESTS)
        for (const oldest of this.#requests.keys()) {
          this.#requests.delete(oldest);
          break;
        }
      return undefined;
    }
    const startedAt = this.#requests.get(key);
    if (startedAt === undefined || type === CONTROL.progress) return undefined;
    this.#requests.delete(key);
    return this.#recorder.now() - startedAt;
  }

  #published(message: BroadcastMessage, topic: string): void {
    let subscribers = 0;
    for (const server of this.#servers) subscribers += server.memberCount(topic);
    this.#recorder.add({
      direction: "topic",
      topic,
      subscribers,
      type: message.type,
      size: JSON.stringify(message).length,
      payload: this.#describe(message.type, message.payload),
    });
  }

  #event(direction: RecordedFrame["direction"], ws: Peer, type: string, payload: string): void {
    this.#recorder.add({ direction, type, clientId: ws.clientId, size: 0, payload });
  }

  /** The newest connections first. */
  connections(): Rows<ConnectionRow> {
    const all = [...this.#connections()];
    const rows = all.slice(-MAX_ROWS).reverse();
    return { total: all.length, rows: rows.map((connection) => this.#row(connection)) };
  }

  #row(connection: Connection): ConnectionRow {
    const { openedAt = 0, received = 0, sent = 0 } = this.#counts.get(connection) ?? {};
    const { clientId, bufferedBytes } = connection;
    return { clientId, openedAt, received, sent, bufferedBytes, topics: [...topicsOf(connection)].length };
  }

  /** The topics with the most subscribers first. */
  topics(): Rows<TopicRow> {
    const counts = new Map<string, number>();
    for (const connection of this.#connections())
      for (const topic of topicsOf(connection)) counts.set(topic, (counts.get(topic) ?? 0) + 1);
    const rows = [...counts]
      .map(([topic, subscribers]) => ({ topic, subscribers }))
      .sort((a, b) => b.subscribers - a.subscribers);
    return { total: rows.length, rows: rows.slice(0, MAX_ROWS) };
  }

  *#connections(): Iterable<Connection> {
    for (const server of this.#servers) yield* server.connections;
  }
}

interface ReadFrame {
  readonly type: string;
  readonly correlationId: string | undefined;
  readonly payload: unknown;
}

function parse(frame: string): ReadFrame | undefined {
  try {
    const { type, meta, payload } = JSON.parse(frame);
    if (typeof type !== "string") return undefined;
    const id: unknown = meta?.correlationId;
    return { type, correlationId: typeof id === "string" ? id.slice(0, 128) : undefined, payload };
  } catch {
    return undefined;
  }
}
