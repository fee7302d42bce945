/** A router's server inside one Durable Object: upgrades, events, and what is remembered of its connections in between. */
import { CLOSE, CONTROL } from "../protocol/control.ts";
import { WsError } from "../protocol/error.ts";
import { uuidv7 } from "../protocol/uuid.ts";
import type { PublishResult } from "../pubsub/pubsub.ts";
import { type Clock, systemClock } from "../router/clock.ts";
import { type AnyData, type Connection, checkCloseCode, isCloseCode } from "../router/connection.ts";
import type { PublishOptions } from "../router/context.ts";
import { type DisconnectMatch, type DisconnectOptions, matcher } from "../router/disconnect.ts";
import type { ConnectionData, ConnectionPart } from "../router/peer.ts";
import type { Router } from "../router/router.ts";
import type { Server } from "../router/server.ts";
import type { AcceptOptions } from "../router/server-options.ts";
import type { AnyMessageSchema } from "../schema/message.ts";
import { judge, overloaded, type Upgrade, type Verdict } from "./admission.ts";
import { ConnectionMemory, type Recalled, type RememberedCall, recall, sweep } from "./durable-memory.ts";
import type { DurableKeyValues, DurableSocket, DurableState } from "./durable-platform.ts";
import { closeSocket, HibernatingSocket } from "./durable-socket.ts";
import { DurableTimers } from "./durable-timers.ts";
import { DEFAULT_CLIENT_ID_HEADER, type HandlerOptions, toServerOptions } from "./serve-options.ts";
import { UpgradeGate } from "./upgrade-gate.ts";

export interface DurableServerOptions<Data extends ConnectionData = ConnectionData>
  extends Omit<HandlerOptions<Data>, "drainTimeoutMs"> {
  /** How many connections one object takes on; more are closed with 1013 and told to come back later. Default 1,000. */
  readonly maxConnections?: number;
}

interface Entry {
  readonly connection: Connection;
  readonly memory: ConnectionMemory;
}

declare const WebSocketPair: new () => { 0: DurableSocket; 1: DurableSocket };
declare const WebSocketRequestResponsePair: new (request: string, response: string) => object;

const DEFAULT_MAX_CONNECTIONS = 1_000;
/** How our client asks for a sign of life; the platform answers it without waking the object. */
const PING = `{"type":"${CONTROL.ping}"}`;
const PONG = `{"type":"${CONTROL.pong}","meta":{}}`;
/** Handlers that wait for nothing real are done after so many turns of the microtask queue, and cost no write. */
const TURNS_BEFORE_SAVE = 16;
const MAX_BYTES_PER_UNIT = 3;
const MAX_TURNED_AWAY = 1_000;
const CLOSE_INTERNAL = 1011;
const LOST = "what the connection was is lost";
/** Deadlines outlive the instance, and only wall time does so too. */
const clock: Clock = { ...systemClock, now: () => Date.now() };

export class DurableServer<Data extends ConnectionData> {
  readonly server: Server;
  readonly #options: DurableServerOptions<Data>;
  readonly #state: DurableState;
  readonly #storage: DurableKeyValues;
  readonly #timers: DurableTimers;
  readonly #gate: UpgradeGate;
  readonly #entries = new Map<DurableSocket, Entry>();
  readonly #sockets = new Map<Connection, DurableSocket>();
  /** Sockets of whose connections something may have to be written. */
  readonly #changed = new Set<DurableSocket>();
  #saving: Promise<void> | undefined;
  /** Peers that were refused and have not gone yet. */
  #turnedAway = 0;

  constructor(router: Router<Data>, options: DurableServerOptions<Data>, state: DurableState) {
    this.#options = options;
    this.#state = state;
    this.#storage = state.storage.kv;
    this.#timers = new DurableTimers(clock, state.storage);
    this.server = router.attach({
      ...toServerOptions(options),
      isolated: true,
      clock,
      timers: this.#timers,
      heartbeat: false,
      onClose: (ws, code, reason) => this.#ended(ws as unknown as Connection, code, reason),
    });
    const { maxConnections = DEFAULT_MAX_CONNECTIONS } = options;
    this.#gate = new UpgradeGate({ ...options, maxConnections }, () => this.server.connections.size);
    state.setWebSocketAutoResponse(new WebSocketRequestResponsePair(PING, PONG));
    this.#wake();
  }

  /** The sockets are still there but this instance is new: takes them all up, so that topics are whole. */
  #wake(): void {
    for (const socket of this.#state.getWebSockets()) this.#resume(socket);
    const ids = new Set([...this.server.connections].map(({ clientId }) => clientId));
    sweep(this.#storage, (clientId) => ids.has(clientId));
    // Nobody whose time is over gets another word in.
    this.#timers.run();
    void this.#save();
  }

  // --- upgrades ---

  async fetch(request: Request): Promise<Response> {
    if (request.headers.get("upgrade")?.toLowerCase() !== "websocket") {
      const headers = { "content-type": "text/plain", upgrade: "websocket" };
      return new Response("This is a WebSocket server.\n", { status: 426, headers });
    }
    const verdict = await this.#decide({
      url: new URL(request.url),
      header: (name) => request.headers.get(name),
      request: () => request,
    });
    if (verdict.kind === "http")
      return new Response(null, { status: verdict.status, headers: verdict.headers });
    const { 0: client, 1: socket } = new WebSocketPair();
    const headers = new Headers();
    if (verdict.protocol !== undefined) headers.set("sec-websocket-protocol", verdict.protocol);
    if (verdict.kind === "close") {
      if (!this.#turnAway(socket, verdict)) return new Response(null, { status: 503 });
    } else {
      const clientId = uuidv7();
      headers.set(this.#options.clientIdHeader ?? DEFAULT_CLIENT_ID_HEADER, clientId);
      this.#state.acceptWebSocket(socket);
      this.#open(socket, { ...verdict.data, clientId }, verdict.greets, request);
      await this.#save();
    }
    // `webSocket` is the platform's own member of ResponseInit.
    return new Response(null, { status: 101, headers, webSocket: client } as ResponseInit);
  }

  /**
   * Not with the Hibernation API: the platform would keep such a socket, which never sent a message, until the object
   * sleeps. One whose peer does not answer keeps the object awake instead, so there may only be so many. False: too many.
   */
  #turnAway(socket: DurableSocket, { code, reason }: Verdict & { kind: "close" }): boolean {
    if (this.#turnedAway >= MAX_TURNED_AWAY) return false;
    this.#turnedAway++;
    socket.addEventListener("close", () => this.#turnedAway--);
    socket.accept();
    socket.close(code, reason);
    return true;
  }

  async #decide(upgrade: Upgrade): Promise<Verdict> {
    const refusal = this.#gate.enter();
    if (refusal !== undefined) {
      this.server.counters.refusedUpgrades++;
      return overloaded(upgrade, refusal.kind === "later" ? refusal.retryAfterMs : undefined);
    }
    try {
      return await judge(upgrade, this.#options, (error) => this.#refused(error));
    } finally {
      this.#gate.leave();
    }
  }

  /** Only the application's own hook hears of refusals: a log line each would be the attacker's to fill. */
  #refused(error: unknown): void {
    if (this.#options.onError !== undefined)
      this.server.reportOutside(WsError.wrap(error, "UNAUTHENTICATED"));
  }

  #open(socket: DurableSocket, data: AnyData, greets: boolean, request: Request): void {
    const { onUpgrade } = this.#options;
    this.#take(socket, data, {
      greets,
      ...(onUpgrade && { upgraded: (ws) => onUpgrade(request, ws as never) }),
    });
  }

  #resume(socket: DurableSocket): Entry | undefined {
    const recalled = this.#recall(socket);
    if (recalled === undefined) return undefined;
    const { data, greets, topics, admitted, closing, calls, isWhole } = recalled;
    const entry = this.#take(
      socket,
      data,
      { greets, resumedTopics: topics, admitted, ...(closing && { closing }) },
      recalled,
    );
    for (const call of calls) this.#lose(entry.connection, call);
    if (calls.length > 0) this.#mark(socket, "calls");
    if (!isWhole) entry.connection.close(CLOSE.restarting, LOST);
    return entry;
  }

  /** One connection that cannot be read must not take the others with it. */
  #recall(socket: DurableSocket): Recalled | undefined {
    try {
      return recall(socket, this.#storage);
    } catch (error) {
      this.server.reportOutside(WsError.wrap(error, "INTERNAL", `A connection was closed: ${LOST}.`));
      closeSocket(socket, CLOSE.restarting, LOST);
      socket.serializeAttachment(null);
      return undefined;
    }
  }

  /** Its handler went with the instance that ran it. */
  #lose(connection: Connection, [correlationId, deadline]: RememberedCall): void {
    const error =
      clock.wall() >= deadline
        ? new WsError("DEADLINE_EXCEEDED", "The request was not answered in time.")
        : new WsError("UNAVAILABLE", "The server was restarted before the request was answered.");
    connection.sendError(error.toPayload(), correlationId);
  }

  #take(socket: DurableSocket, data: AnyData, options: AcceptOptions, recalled?: Recalled): Entry {
    const adapter = new HibernatingSocket(socket, (part) => this.#mark(socket, part));
    const connection = this.server.accept(adapter, data, options);
    const memory = new ConnectionMemory(connection, socket, this.#storage, recalled);
    const entry = { connection, memory };
    this.#entries.set(socket, entry);
    this.#sockets.set(connection, socket);
    if (recalled === undefined) this.#changed.add(socket);
    return entry;
  }

  // --- events ---

  async message(socket: DurableSocket, data: string | ArrayBuffer): Promise<void> {
    this.#timers.run();
    const connection = this.#entryOf(socket)?.connection;
    if (connection === undefined) return;
    // The platform has no limit of its own below 32 MiB, so the frame is measured after it came.
    const bytes = bytesBeyond(data, this.server.options.maxPayloadBytes);
    if (bytes === undefined) connection.receive(typeof data === "string" ? data : new Uint8Array(data));
    else if (connection.isOpen) connection.tooLarge(bytes);
    this.#changed.add(socket);
    await this.#save();
  }

  async closed(socket: DurableSocket, code: number, reason: string): Promise<void> {
    this.#entryOf(socket)?.connection.closed(code, reason);
    // The closing handshake may be left to us; codes a peer cannot send may not be echoed.
    closeSocket(socket, isCloseCode(code) ? code : 1000);
    await this.#save();
  }

  async alarm(): Promise<void> {
    this.#timers.rang();
    await this.#save();
    // Rejects if there is no alarm now, and so has the platform ring again.
    await this.#timers.arm();
  }

  async setAlarm(at: number | null): Promise<void> {
    this.#timers.setOwn(at);
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

  async disconnect(match: DisconnectMatch, options: DisconnectOptions = {}): Promise<number> {
    const { code = CLOSE.forbidden, reason = "" } = options;
    checkCloseCode(code);
    const matches = matcher(match);
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
      this.#entries.get(socket)?.memory.forget();
      this.#entries.delete(socket);
      this.#sockets.delete(connection);
    }
    return this.#options.onClose?.(connection as never, code, reason);
  }

  // --- memory ---

  #mark(socket: DurableSocket, part: ConnectionPart): void {
    this.#entries.get(socket)?.memory.mark(part);
    this.#changed.add(socket);
    void this.#save();
  }

  /** Writes what has changed, and sees to it that the object is woken for what is due. */
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
    for (const socket of sockets) this.#remember(this.#entries.get(socket));
    try {
      await this.#timers.arm();
    } catch (error) {
      // Tried again with the next event.
      this.server.reportOutside(WsError.wrap(error, "INTERNAL", "The object's alarm could not be set."));
    }
  }

  #remember(entry: Entry | undefined): void {
    try {
      entry?.memory.save();
    } catch (error) {
      // Who goes on with data that is not remembered may come back as somebody else.
      const message = "A connection was closed: its data cannot be kept while the object sleeps.";
      this.server.reportOutside(WsError.wrap(error, "INTERNAL", message));
      entry?.connection.close(CLOSE_INTERNAL, "the connection's data cannot be kept");
      entry?.memory.giveUp();
    }
  }
}

/** How many bytes a frame has, if more than allowed. */
function bytesBeyond(data: string | ArrayBuffer, limit: number): number | undefined {
  if (typeof data === "string" && data.length * MAX_BYTES_PER_UNIT <= limit) return undefined;
  const bytes = typeof data === "string" ? new TextEncoder().encode(data).byteLength : data.byteLength;
  return bytes > limit ? bytes : undefined;
}
