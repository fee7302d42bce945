/**
 * One frame, top to bottom: decode → control types → route → validate → context → turn → admission → middleware → handler.
 * Stays synchronous until something on the way is not. Every failure ends in `failure.ts`.
 */
import { isReservedType } from "../protocol/control.ts";
import { decode, type Envelope } from "../protocol/envelope.ts";
import { WsError } from "../protocol/error.ts";
import { uuidv7 } from "../protocol/uuid.ts";
import { readMeta, readPayload } from "../schema/validate.ts";
import type { Connection } from "./connection.ts";
import type { MessageMeta } from "./context.ts";
import { handleControl } from "./control-frames.ts";
import { fail, refuse } from "./failure.ts";
import { InboundCall } from "./inbound-call.ts";
import { InboundEvent } from "./inbound-event.ts";
import { MiddlewareScope, runChain } from "./middleware.ts";
import { pendingOf } from "./pending.ts";
import type { Route } from "./routes.ts";

export function dispatch(connection: Connection, frame: string | Uint8Array): void {
  let type: string | undefined;
  let correlationId: string | undefined;
  try {
    if (typeof frame !== "string") throw invalid("Binary frames are not supported: send JSON as text.");
    const envelope = decode(frame);
    type = envelope.type;
    if (envelope.problem !== undefined) {
      correlationId = envelope.correlationId;
      throw invalid(envelope.problem);
    }
    correlationId = envelope.meta.correlationId;
    if (isReservedType(envelope.type)) return handleControl(connection, envelope);
    if (connection.blocked) limitWaiting(connection);
    const route = connection.server.routes.get(envelope.type);
    if (route === undefined)
      throw new WsError("UNIMPLEMENTED", "No handler is registered for this message type.");
    const message = read(connection, route, envelope, connection.server.clock.wall());
    if (connection.blocked) postpone(connection, route, message);
    else proceed(connection, route, message);
  } catch (error) {
    refuse(connection, type, correlationId, error);
  }
}

/** The message's turn has come. */
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
  const payload = readPayload(options.validator, route.schema, envelope, "INVALID_ARGUMENT");
  const meta = readMeta(options.validator, route.schema, envelope, "INVALID_ARGUMENT");
  meta["clientId"] = connection.clientId;
  meta["receivedAt"] = receivedAt;
  if (route.kind === "event") {
    limitEvents(connection);
    return new InboundEvent(connection, route.schema.type, meta as MessageMeta, payload);
  }
  meta.correlationId ??= uuidv7(receivedAt);
  const call = new InboundCall(connection, route.schema, meta as MessageMeta, payload);
  call.checkPlace();
  return call;
}

/** Requests have their own limit; without this one, events whose handlers never settle would pile up. */
function limitEvents(connection: Connection): void {
  const limit = connection.server.options.maxInflightRpcsPerSocket;
  if (connection.unsettledEvents < limit) return;
  throw new WsError(
    "RESOURCE_EXHAUSTED",
    `${limit} messages of this connection are still being handled.`,
    undefined,
    {
      retryAfterMs: 100,
    },
  );
}

/** Asks `onAuth`, once per connection. True when the message may go on at once. */
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
    if (!admitted || !connection.isOpen) return;
    try {
      connection.blocked = false;
      run(connection, route, message);
    } catch (error) {
      end(message, error);
    }
    // Unless the message is held up again, now by its middleware.
    if (!connection.blocked) resume(connection);
  });
  return false;
}

function run(connection: Connection, route: Route, message: InboundEvent): void {
  const chain = route.chain ?? connection.server.routes.chainOf(route);
  if (chain.length === 0) return settle(message, handle(route, message));
  let started = false;
  let blocking = false;
  /** Only once: a `next()` that comes late must not give away another message's turn. */
  const release = (): void => {
    if (!blocking) return;
    blocking = false;
    resume(connection);
  };
  const pending = runChain(
    chain,
    new MiddlewareScope(message),
    () => {
      started = true;
      try {
        return handle(route, message);
      } finally {
        release();
      }
    },
    (error) => end(message, error),
  );
  // Handlers start in the order of arrival: the next frame waits until this one has got past its middleware.
  if (pending !== undefined && !started) {
    blocking = true;
    connection.blocked = true;
    void pending.catch(() => undefined).then(release);
  }
  settle(message, pending);
}

function handle(route: Route, message: InboundEvent): unknown {
  if (route.kind === "event") return route.handler(message);
  // A call that was cancelled on its way through the middleware does not start.
  return message instanceof InboundCall && message.isRunning ? route.handler(message) : undefined;
}

function settle(message: InboundEvent, result: unknown): void {
  const pending = pendingOf(result);
  if (pending === undefined) return message.settled();
  message.arm();
  void pending.then(
    () => {
      message.settled();
      message.ws.socket.changed?.("data");
    },
    (error: unknown) => {
      end(message, error);
      message.ws.socket.changed?.("data");
    },
  );
}

function limitWaiting(connection: Connection): void {
  const limit = connection.server.options.maxInflightRpcsPerSocket;
  if ((connection.waiting?.length ?? 0) < limit) return;
  throw new WsError(
    "RESOURCE_EXHAUSTED",
    `${limit} messages of this connection wait for an earlier one.`,
    undefined,
    { retryAfterMs: 100 },
  );
}

/** A request is in flight from here on: its deadline runs, its id is taken, an abort finds it. */
function postpone(connection: Connection, route: Route, message: InboundEvent): void {
  connection.waiting ??= [];
  connection.waiting.push({ route, message });
  message.arm();
}

function resume(connection: Connection): void {
  connection.blocked = false;
  while (!connection.blocked && connection.isOpen) {
    const next = connection.waiting?.shift();
    if (next === undefined) return;
    // Cancelled while it waited: it has its answer already.
    if (next.message instanceof InboundCall && !next.message.isRunning) continue;
    proceed(connection, next.route, next.message);
  }
}

function invalid(message: string): WsError {
  return new WsError("INVALID_ARGUMENT", message);
}
