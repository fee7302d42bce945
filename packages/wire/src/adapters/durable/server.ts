/** A router's server inside one Durable Object: handles upgrades and events, and persists connections between them. */
import { type Clock, systemClock, uuidv7 } from "@halyard/base";
import type { ChannelTarget } from "../../channels/channel-target.ts";
import { checkParams, topicOf } from "../../channels/topic.ts";
import { MAX_BYTES_PER_UNIT } from "../../protocol/bytes.ts";
import { CLOSE, CONTROL } from "../../protocol/control.ts";
import { WsError } from "../../protocol/error.ts";
import type { PublishResult } from "../../pubsub/pubsub.ts";
import { checkCloseCode, isCloseCode } from "../../router/connections/close-code.ts";
import {
  createMatcher,
  type DisconnectMatch,
  type DisconnectOptions,
} from "../../router/connections/disconnect.ts";
import type { AnyData, ConnectionData, ConnectionPart } from "../../router/connections/peer.ts";
import type { PublishOptions } from "../../router/context.ts";
import type { Connection, Server } from "../../router/contracts.ts";
import type { Router } from "../../router/router.ts";
import type { AcceptOptions } from "../../router/server/server-options.ts";
import type { AnyChannel } from "../../schema/channel.ts";
import type { AnyMessageSchema } from "../../schema/message.ts";
import type { Timers } from "../../time/timers.ts";
import type { Verdict } from "../admission.ts";
import { RefusalLog } from "../refusal-log.ts";
import { DEFAULT_CLIENT_ID_HEADER, type HandlerOptions, toServerOptions } from "../serve-options.ts";
import { Upgrades } from "../upgrades.ts";
import { AbsenceStore } from "./absence-store.ts";
import {
  ConnectionPersistence,
  deleteOrphans,
  type PersistedCall,
  type RestoredConnection,
  restore,
} from "./persistence.ts";
import type { DurableKeyValues, DurableSocket, DurableState } from "./platform.ts";
import { DurablePubSub } from "./pubsub.ts";
import { closeSocket, HibernatingSocket } from "./socket.ts";
import { DurableTimers } from "./timers.ts";

/** The options of a server in a Durable Object. */
export interface DurableServerOptions<Data extends ConnectionData = ConnectionData>
  extends Omit<HandlerOptions<Data>, "drainTimeoutMs"> {
  /** The most connections of one object; further ones are closed with 1013 and a retry delay. Default 1,000. */
  readonly maxConnections?: number;
}

interface Entry {
  readonly connection: Connection;
  readonly persistence: ConnectionPersistence;
}

declare const WebSocketPair: new () => { 0: DurableSocket; 1: DurableSocket };
declare const WebSocketRequestResponsePair: new (request: string, response: string) => object;

const DEFAULT_MAX_CONNECTIONS = 1_000;
/** The ping of the client and its reply; the platform replies without waking the object. */
const PING = `{"type":"${CONTROL.ping}"}`;
const PONG = `{"type":"${CONTROL.pong}","meta":{}}`;
/** Handlers without I/O finish within this many microtask turns, so that their changes are written once. */
const TURNS_BEFORE_SAVE = 16;
const MAX_REFUSED_SOCKETS = 1_000;
const CLOSE_INTERNAL = 1011;
const STATE_LOST = "the state of the connection was lost";
/** Of all objects in this isolate: each would have its own line per minute. */
const refusalLog = new RefusalLog();
/** Wall time also for deadlines, because they must outlive this instance of the object. */
const clock: Clock = { ...systemClock, now: () => Date.now() };

export class DurableServer<Data extends ConnectionData> {
  readonly server: Server;
  readonly #options: DurableServerOptions<Data>;
  readonly #state: DurableState;
  readonly #storage: DurableKeyValues;
  readonly #timers: DurableTimers;
  readonly #upgrades: Upgrades<Data>;
  readonly #entries = new Map<DurableSocket, Entry>();
  readonly #sockets = new Map<Connection, DurableSocket>();
  /** Sockets whose connections may have unwritten changes. */
  readonly #changed = new Set<DurableSocket>();
  #saving: Promise<void> | undefined;
  /** Refused peers that have not closed their socket yet. */
  #refusedSockets = 0;

  constructor(router: Router<Data>, options: DurableServerOptions<Data>, state: DurableState) {
    this.#options = options;
    this.#state = state;
    this.#storage = state.storage.kv;
    this.#timers = new DurableTimers(clock, state.storage);
    this.server = router.attach({
      ...toServerOptions(options),
      isolated: true,
      isolatedPubSub: () => new DurablePubSub(state.storage, clock, this.#armedTimers()),
      clock,
      timers: this.#timers,
      heartbeat: false,
      absentMembers: new AbsenceStore(this.#storage),
      onClose: (ws, code, reason) => this.#ended(ws as unknown as Connection, code, reason),
    });
    const { maxConnections = DEFAULT_MAX_CONNECTIONS } = options;
    this.#upgrades = new Upgrades(this.server, { ...options, maxConnections }, refusalLog);
    state.setWebSocketAutoResponse(new WebSocketRequestResponsePair(PING, PONG));
    this.#wake();
  }

  /** For deadlines that are set outside an event of a connection: they set the alarm themselves. */
  #armedTimers(): Timers {
    return {
      add: (entry, delayMs) => {
        this.#timers.add(entry, delayMs);
        void this.#save();
      },
      remove: (entry) => this.#timers.remove(entry),
    };
  }

  /** This instance is new, but sockets may exist: restores all connections, so that topics are complete. */
  #wake(): void {
    for (const socket of this.#state.getWebSockets()) this.#resume(socket);
    const ids = new Set([...this.server.connections].map(({ clientId }) => clientId));
    deleteOrphans(this.#storage, (clientId) => ids.has(clientId));
    // Deadlines that passed during hibernation expire before any new event.
    this.#timers.run();
    void this.#save();
  }

  // --- upgrades ---

  async fetch(request: Request): Promise<Response> {
    if (request.headers.get("upgrade")?.toLowerCase() !== "websocket") {
      const headers = { "content-type": "text/plain", upgrade: "websocket" };
      return new Response("This is a WebSocket server.\n", { status: 426, headers });
    }
    const verdict = await this.#upgrades.decide({
      url: new URL(request.url),
      address: undefined,
      header: (name) => request.headers.get(name),
      request: () => request,
    });
    if (verdict === undefined) return new Response(null, { status: 400 });
    if (verdict.kind === "http")
      return new Response(null, { status: verdict.status, headers: verdict.headers });
    const { 0: client, 1: socket } = new WebSocketPair();
    const headers = new Headers();
    if (verdict.protocol !== undefined) headers.set("sec-websocket-protocol", verdict.protocol);
    if (verdict.kind === "close") {
      if (!this.#refuse(socket, verdict)) return new Response(null, { status: 503 });
    } else {
      const clientId = uuidv7();
      headers.set(this.#options.clientIdHeader ?? DEFAULT_CLIENT_ID_HEADER, clientId);
      this.#state.acceptWebSocket(socket);
      this.#open(socket, { ...verdict.data, clientId }, verdict.greets, request);
      await this.#save();
    }
    // `webSocket` is a member of ResponseInit on this platform.
    return new Response(null, { status: 101, headers, webSocket: client } as ResponseInit);
  }

  /**
   * Accepts and closes a refused socket; returns false above the limit. Not with the Hibernation API, which would keep a
   * socket without messages until the object hibernates. A peer that does not answer the close keeps the object awake, so
   * the number is limited.
   */
  #refuse(socket: DurableSocket, { code, reason }: Verdict & { kind: "close" }): boolean {
    if (this.#refusedSockets >= MAX_REFUSED_SOCKETS) return false;
    this.#refusedSockets++;
    socket.addEventListener("close", () => this.#refusedSockets--);
    socket.accept();
    socket.close(code, reason);
    return true;
  }

  #open(socket: DurableSocket, data: AnyData, greets: boolean, request: Request): void {
    const { onUpgrade } = this.#options;
    this.#accept(socket, data, {
      greets,
      ...(onUpgrade && { upgraded: (ws) => onUpgrade(request, ws as never) }),
    });
  }

  #resume(socket: DurableSocket): Entry | undefined {
    const restored = this.#restore(socket);
    if (restored === undefined) return undefined;
    const { data, greets, topics, channels, admitted, closing, calls, isComplete } = restored;
    const entry = this.#accept(
      socket,
      data,
      { greets, resumedTopics: topics, resumedChannels: channels, admitted, ...(closing && { closing }) },
      restored,
    );
    for (const call of calls) this.#failCall(entry.connection, call);
    if (calls.length > 0) this.#mark(socket, "calls");
    if (!isComplete) entry.connection.close(CLOSE.restarting, STATE_LOST);
    return entry;
  }

  /** Reads a persisted connection. One that cannot be read is closed, and does not affect the others. */
  #restore(socket: DurableSocket): RestoredConnection | undefined {
    try {
      return restore(socket, this.#storage);
    } catch (error) {
      this.server.reportOutside(WsError.wrap(error, "INTERNAL", `A connection was closed: ${STATE_LOST}.`));
      closeSocket(socket, CLOSE.restarting, STATE_LOST);
      socket.serializeAttachment(null);
      return undefined;
    }
  }

  /** Fails a call whose handler ended with the previous instance. */
  #failCall(connection: Connection, [correlationId, deadline]: PersistedCall): void {
    const error =
      clock.wall() >= deadline
        ? new WsError("DEADLINE_EXCEEDED", "The request had no response before its deadline.")
        : new WsError("UNAVAILABLE", "The server restarted before it sent a response. Retry the request.");
    connection.sendError(error.toPayload(), correlationId);
  }

  #accept(
    socket: DurableSocket,
    data: AnyData,
    options: AcceptOptions,
    restored?: RestoredConnection,
  ): Entry {
    const adapter = new HibernatingSocket(socket, (part) => this.#mark(socket, part));
    const connection = this.server.accept(adapter, data, options);
    const persistence = new ConnectionPersistence(connection, socket, this.#storage, restored);
    const entry = { connection, persistence };
    this.#entries.set(socket, entry);
    this.#sockets.set(connection, socket);
    if (restored === undefined) this.#changed.add(socket);
    return entry;
  }

  // --- events ---

  async message(socket: DurableSocket, data: string | ArrayBuffer): Promise<void> {
    this.#timers.run();
    const connection = this.#entryOf(socket)?.connection;
    if (connection === undefined) return;
    // The platform's own limit is 32 MiB, so the frame is measured after it was received.
    const bytes = bytesAbove(data, this.server.options.maxPayloadBytes);
    if (bytes === undefined) connection.receive(typeof data === "string" ? data : new Uint8Array(data));
    else if (connection.isOpen) connection.tooLarge(bytes);
    this.#changed.add(socket);
    await this.#save();
  }

  async closed(socket: DurableSocket, code: number, reason: string): Promise<void> {
    this.#entryOf(socket)?.connection.closed(code, reason);
    // The platform may leave the closing handshake to the object. Codes that cannot be in a close frame become 1000.
    closeSocket(socket, isCloseCode(code) ? code : 1000);
    await this.#save();
  }

  async alarm(): Promise<void> {
    this.#timers.alarmFired();
    await this.#save();
    // Rejects if the alarm cannot be set, so that the platform calls `alarm` again.
    await this.#timers.arm();
  }

  async setAlarm(at: number | null): Promise<void> {
    this.#timers.setApplicationAlarm(at);
    await this.#timers.arm();
  }

  publish(
    topic: string,
    schema: AnyMessageSchema,
    payload: unknown,
    options: PublishOptions,
  ): Promise<PublishResult> {
    this.#timers.run();
    return this.server.publish(topic, schema, payload, options);
  }

  to(channel: AnyChannel, params: unknown): ChannelTarget<AnyChannel> {
    this.#timers.run();
    return this.server.channels.target(channel, params);
  }

  async leave(match: DisconnectMatch, channel: AnyChannel, params: unknown): Promise<number> {
    const { validator } = this.server.options;
    const topic = topicOf(channel, checkParams(channel, params, validator));
    const ended = this.server.channels.withdraw(createMatcher(match), topic, 0);
    await this.#save();
    return ended;
  }

  async disconnect(match: DisconnectMatch, options: DisconnectOptions = {}): Promise<number> {
    const { code = CLOSE.forbidden, reason = "" } = options;
    checkCloseCode(code);
    const matches = createMatcher(match);
    const matching = [...this.server.connections].filter((ws) => ws.isOpen && matches(ws));
    for (const connection of matching) connection.close(code, reason);
    await this.#save();
    return matching.length;
  }

  #entryOf(socket: DurableSocket): Entry | undefined {
    return this.#entries.get(socket) ?? this.#resume(socket);
  }

  #ended(connection: Connection, code: number, reason: string): unknown {
    const socket = this.#sockets.get(connection);
    if (socket !== undefined) {
      this.#entries.get(socket)?.persistence.remove();
      this.#entries.delete(socket);
      this.#sockets.delete(connection);
    }
    return this.#options.onClose?.(connection as never, code, reason);
  }

  // --- persistence ---

  #mark(socket: DurableSocket, part: ConnectionPart): void {
    this.#entries.get(socket)?.persistence.mark(part);
    this.#changed.add(socket);
    void this.#save();
  }

  /** Writes changes, and sets the alarm for the next deadline. */
  #save(): Promise<void> {
    if (this.#saving === undefined) {
      this.#saving = this.#saveSoon();
      this.#state.waitUntil(this.#saving);
    }
    return this.#saving;
  }

  async #saveSoon(): Promise<void> {
    for (let turn = 0; turn < TURNS_BEFORE_SAVE; turn++) await undefined;
    this.#saving = undefined;
    const sockets = [...this.#changed];
    this.#changed.clear();
    for (const socket of sockets) this.#persist(this.#entries.get(socket));
    try {
      await this.#timers.arm();
    } catch (error) {
      // Retried with the next event.
      this.server.reportOutside(
        WsError.wrap(
          error,
          "INTERNAL",
          "The alarm of the Durable Object could not be set. Deadlines may be late.",
        ),
      );
    }
  }

  #persist(entry: Entry | undefined): void {
    try {
      entry?.persistence.save();
    } catch (error) {
      // Closed, because the connection would lose its identity or permissions after hibernation.
      const message =
        "A connection was closed: its data cannot be cloned, or is too large for the storage of the Durable Object.";
      this.server.reportOutside(WsError.wrap(error, "INTERNAL", message));
      entry?.connection.close(CLOSE_INTERNAL, "the connection's data cannot be stored");
      entry?.persistence.discard();
    }
  }
}

/** The size of a frame in bytes, if it is above the limit. */
function bytesAbove(data: string | ArrayBuffer, limit: number): number | undefined {
  if (typeof data === "string" && data.length * MAX_BYTES_PER_UNIT <= limit) return undefined;
  const bytes = typeof data === "string" ? new TextEncoder().encode(data).byteLength : data.byteLength;
  return bytes > limit ? bytes : undefined;
}
