/**
 * Handles one frame: decode → control types → route → validate → context → turn → admission → middleware → handler.
 * Synchronous until a hook, middleware or handler returns a promise. Every failure ends in `failure.ts`.
 */
import { uuidv7 } from "@halyard/base";
import { isAttach, termsOf } from "../protocol/call-terms.ts";
import { isReservedType } from "../protocol/control.ts";
import { decode, type Envelope } from "../protocol/envelope.ts";
import { WsError } from "../protocol/error.ts";
import { withIssue } from "../schema/issues.ts";
import { readMeta, readPart } from "../schema/validate.ts";
import { Timeout } from "../time/timers.ts";
import { InboundCall } from "./calls/inbound-call.ts";
import { StreamCall } from "./calls/stream-call.ts";
import { addJoin } from "./connections/pending-joins.ts";
import type { MessageMeta, RpcContext } from "./context.ts";
import type { Connection, ControlRoute, WaitingMessage } from "./contracts.ts";
import { handleControl } from "./control-frames.ts";
import { fail, quoteType, refuse } from "./failure.ts";
import { InboundEvent } from "./inbound-event.ts";
import { type ChainEnd, MiddlewareScope, runChain } from "./middleware.ts";
import { isDevelopment } from "./options.ts";
import { pendingOf } from "./pending.ts";
import type { Route as MessageRoute } from "./routes.ts";

type Route = MessageRoute | ControlRoute;

export function dispatch(connection: Connection, frame: string | Uint8Array): void {
  let type: string | undefined;
  let correlationId: string | undefined;
  try {
    if (typeof frame !== "string")
      throw invalid("Binary frames are not supported. Send JSON in a text frame.");
    const envelope = decode(frame);
    type = envelope.type;
    if (envelope.problem !== undefined) {
      correlationId = envelope.correlationId;
      throw invalid(envelope.problem);
    }
    correlationId = envelope.meta.correlationId;
    const { routes, channels } = connection.server;
    const isReserved = isReservedType(envelope.type);
    const route = isReserved ? channels.routeOf(envelope.type) : routes.get(envelope.type);
    if (isReserved && route === undefined) return handleControl(connection, envelope);
    connection.checkMemory();
    const waits = mustWait(connection, route);
    if (waits) limitWaiting(connection);
    if (route === undefined) throw unimplemented(envelope.type);
    const message = read(connection, route, envelope, connection.server.clock.wall());
    if (waits) postpone(connection, route, message);
    else proceed(connection, route, message);
  } catch (error) {
    refuse(connection, type, correlationId, withIssue(error));
  }
}

/** Joins do not wait for each other, unless a message is between them. */
function mustWait({ blocked, joins, waiting }: Connection, route: Route | undefined): boolean {
  if (blocked || joins === undefined || joins.isEmpty) return blocked;
  return waitsForJoins(route) || (waiting?.length ?? 0) > 0;
}

function waitsForJoins(route: Route | undefined): boolean {
  return route?.kind !== "control" || route.waitsForJoins;
}

/** No earlier message is waiting: continues with admission. */
function proceed(connection: Connection, route: Route, message: InboundEvent): void {
  try {
    if (connection.admitted || admit(connection, route, message)) run(connection, route, message);
  } catch (error) {
    end(message, error);
  }
}

function end(message: InboundEvent, error: unknown): void {
  fail(message, error);
  message.settled();
}

function read(connection: Connection, route: Route, envelope: Envelope, receivedAt: number): InboundEvent {
  const { options } = connection.server;
  if (route.kind === "control") return readControl(connection, route, envelope, receivedAt);
  // A request that attaches to a durable call has no payload.
  const isWhole = route.schema.durable === undefined || !isAttach(termsOf(envelope.meta)?.key);
  const payload = isWhole
    ? readPart(options.validator, route.schema, "payload", envelope.payload, "INVALID_ARGUMENT")
    : undefined;
  const { schema } = route;
  const meta =
    schema.meta === undefined && !envelope.hasCustom
      ? envelope.meta
      : readMeta(options.validator, schema, envelope, "INVALID_ARGUMENT");
  meta["clientId"] = connection.clientId;
  meta["receivedAt"] = receivedAt;
  if (route.kind === "event") {
    limitEvents(connection);
    return new InboundEvent(connection, route.schema.type, meta as MessageMeta, payload);
  }
  meta.correlationId ??= uuidv7(receivedAt);
  const call =
    route.schema.progress === undefined
      ? new InboundCall(connection, route.schema, meta as RpcContext["meta"], payload)
      : new StreamCall(connection, route.schema, meta as RpcContext["meta"], payload, termsOf(envelope.meta));
  call.checkLimit();
  return call;
}

function readControl(
  connection: Connection,
  { schema }: ControlRoute,
  { payload, meta: { correlationId, timeoutMs } }: Envelope,
  receivedAt: number,
): InboundCall {
  if (correlationId === undefined)
    throw invalid(`The ${schema.type} frame has no meta.correlationId. Set it to a new id.`);
  const meta = { correlationId, clientId: connection.clientId, receivedAt, ...(timeoutMs && { timeoutMs }) };
  const call = new InboundCall(connection, schema, meta, payload);
  call.checkLimit();
  return call;
}

/** Limits event handlers that have not settled; requests have their own limit. */
function limitEvents(connection: Connection): void {
  const limit = connection.server.options.maxInflightRpcsPerSocket;
  if (connection.unsettledEvents < limit) return;
  throw new WsError(
    "RESOURCE_EXHAUSTED",
    `${limit} event handlers of this connection have not finished. Send fewer messages at once.`,
    undefined,
    { retryAfterMs: 100 },
  );
}

/** Runs `onAuth`, once per connection. Returns true when the message may continue at once. */
function admit(connection: Connection, route: Route, message: InboundEvent): boolean {
  const verdict = connection.server.authorize(message);
  if (typeof verdict === "boolean") {
    connection.server.admit(connection, verdict);
    return verdict;
  }
  connection.blocked = true;
  message.arm();
  void verdict.then((admitted) => {
    connection.server.admit(connection, admitted);
    if (!admitted || !connection.isOpen) return message.drop();
    try {
      connection.blocked = false;
      run(connection, route, message);
    } catch (error) {
      end(message, error);
    }
    // The middleware of the message may have blocked the connection again.
    if (!connection.blocked) resume(connection);
  });
  return false;
}

function run(connection: Connection, route: Route, message: InboundEvent): void {
  if (route.kind === "control") {
    const result = handle(route, message);
    const joining = pendingOf(result);
    if (joining !== undefined) addJoin(connection, message as InboundCall, joining, drain);
    return settle(message, result);
  }
  const chain = route.chain ?? connection.server.routes.chainOf(route);
  if (chain.length === 0) return settle(message, handle(route, message));
  const turn = new Turn(connection, route, message);
  const pending = runChain(chain, new MiddlewareScope(message), turn);
  if (pending === undefined) return message.settled();
  turn.wait(pending);
}

/**
 * A message in its middleware. Handlers start in the order of arrival, so later messages wait until this one has reached
 * its handler; at its deadline the message fails, and they continue.
 */
class Turn implements ChainEnd {
  private readonly connection: Connection;
  private readonly route: Route;
  private readonly message: InboundEvent;
  private hasStarted = false;
  private isOverdue = false;
  private isBlocking = false;
  /** Only of an event. */
  private deadline: Timeout | undefined;
  /** The last failure: the chain may fail again with the same error. */
  private failure: unknown;

  constructor(connection: Connection, route: Route, message: InboundEvent) {
    this.connection = connection;
    this.route = route;
    this.message = message;
  }

  handle(): unknown {
    this.hasStarted = true;
    if (this.isOverdue) return undefined;
    try {
      const result = handle(this.route, this.message);
      if (result === undefined || pendingOf(result) !== undefined) return result;
      this.message.returned(result);
      return undefined;
    } finally {
      this.release();
    }
  }

  resolved(value: unknown): void {
    this.message.returned(value);
  }

  failed(error: unknown): void {
    if (error === this.failure) return;
    this.failure = error;
    // The peer has been told already that the message failed.
    if (this.isOverdue) this.connection.server.report(error, this.message);
    else end(this.message, error);
  }

  /** Waits for the chain, and blocks later messages while the handler has not started. */
  wait(pending: Promise<unknown>): void {
    const message = this.message;
    if (!this.hasStarted) this.block();
    message.arm();
    void pending.then(
      () => {
        message.settled();
        message.ws.socket.changed?.("data");
        this.release();
      },
      (error: unknown) => {
        this.failed(error);
        message.ws.socket.changed?.("data");
        this.release();
      },
    );
  }

  private block(): void {
    const { server } = this.connection;
    const message = this.message;
    this.connection.blocked = true;
    this.isBlocking = true;
    // A call that is cancelled, or fails at its own deadline, does not start, so nothing has to wait for it.
    if (message instanceof InboundCall) return void message.onCancel(() => this.release());
    this.deadline = new Timeout(() => this.expire());
    server.timers.add(this.deadline, server.options.rpcTimeoutMs);
  }

  /** Releases once: a late `next()` must not unblock the connection for a later message. */
  private release(): void {
    if (!this.isBlocking) return;
    this.isBlocking = false;
    if (this.deadline !== undefined) this.connection.server.timers.remove(this.deadline);
    resume(this.connection);
  }

  private expire(): void {
    this.isOverdue = true;
    const { rpcTimeoutMs } = this.connection.server.options;
    end(
      this.message,
      new WsError(
        "DEADLINE_EXCEEDED",
        `The middleware of ${this.message.type} did not call next() within ${rpcTimeoutMs} ms (rpcTimeoutMs). Call next() or ctx.error() in time.`,
      ),
    );
    this.release();
  }
}

function handle(route: Route, message: InboundEvent): unknown {
  if (route.kind === "event") return route.handler(message);
  // A call that was cancelled during its middleware does not start.
  return message instanceof InboundCall && message.isRunning ? route.handler(message) : undefined;
}

/** The handler has returned: its result is the response of a request that has none yet. */
function settle(message: InboundEvent, result: unknown): void {
  if (result === undefined) return message.settled();
  const pending = pendingOf(result);
  if (pending === undefined) {
    message.returned(result);
    return message.settled();
  }
  message.arm();
  void pending.then(
    (value) => {
      resolved(message, value);
      message.ws.socket.changed?.("data");
    },
    (error: unknown) => {
      end(message, error);
      message.ws.socket.changed?.("data");
    },
  );
}

function resolved(message: InboundEvent, value: unknown): void {
  try {
    message.returned(value);
    message.settled();
  } catch (error) {
    end(message, error);
  }
}

function limitWaiting(connection: Connection): void {
  const limit = connection.server.options.maxInflightRpcsPerSocket;
  if ((connection.waiting?.length ?? 0) < limit) return;
  throw new WsError(
    "RESOURCE_EXHAUSTED",
    `${limit} messages of this connection wait for an earlier one. Send fewer messages at once.`,
    undefined,
    { retryAfterMs: 100 },
  );
}

/** A waiting request is in flight: its deadline runs, its id is in use, and it can be aborted. */
function postpone(connection: Connection, route: Route, message: InboundEvent): void {
  connection.waiting ??= [];
  connection.waiting.push(new PostponedMessage(connection, route, message));
  if (!connection.blocked) connection.joins?.limit();
  message.arm();
  // It has no deadline for its bytes while it waits: whatever it waits for has one.
  if (message.held !== undefined) message.held.until = Number.POSITIVE_INFINITY;
}

class PostponedMessage implements WaitingMessage {
  readonly #connection: Connection;
  readonly #route: Route;
  readonly #message: InboundEvent;

  constructor(connection: Connection, route: Route, message: InboundEvent) {
    this.#connection = connection;
    this.#route = route;
    this.#message = message;
  }

  get waitsForJoins(): boolean {
    return waitsForJoins(this.#route);
  }

  get isCancelled(): boolean {
    return this.#message instanceof InboundCall && !this.#message.isRunning;
  }

  proceed(): void {
    const { clock, options } = this.#connection.server;
    const { held } = this.#message;
    if (held !== undefined) held.until = clock.wall() + options.rpcTimeoutMs;
    proceed(this.#connection, this.#route, this.#message);
  }

  drop(): void {
    this.#message.drop();
  }
}

function resume(connection: Connection): void {
  connection.blocked = false;
  drain(connection);
}

/** Continues with the waiting messages, until one blocks the connection or has to wait for a join. */
function drain(connection: Connection): void {
  while (!connection.blocked && connection.isOpen) {
    const next = connection.waiting?.[0];
    if (next === undefined) return;
    if (next.waitsForJoins && connection.joins?.isEmpty === false) return connection.joins.limit();
    connection.waiting?.shift();
    // A cancelled call has its error frame already.
    if (next.isCancelled) next.drop();
    else next.proceed();
  }
}

/** Peers choose the types, so the number of warnings is bounded. */
const MAX_WARNED_TYPES = 20;
const warnedTypes = new Set<string>();

function unimplemented(type: string): WsError {
  const name = quoteType(type);
  const message = `No handler is registered for message type ${name}. Register one with router.on() or router.rpc().`;
  // The sender of an event does not wait for an answer, so a developer may see the mistake only here.
  if (warnedTypes.size < MAX_WARNED_TYPES && !warnedTypes.has(name) && isDevelopment()) {
    warnedTypes.add(name);
    console.warn(`[halyard] ${message}`);
  }
  return new WsError("UNIMPLEMENTED", message);
}

function invalid(message: string): WsError {
  return new WsError("INVALID_ARGUMENT", message);
}
