/** Handles the control frames of clients: abort, credit, answer, ping, synced, auth. */
import { isCount } from "../protocol/call-terms.ts";
import { CLOSE, CONTROL, type ControlType, type Credit } from "../protocol/control.ts";
import type { Envelope } from "../protocol/envelope.ts";
import { WsError } from "../protocol/error.ts";
import type { Connection } from "./contracts.ts";
import { quoteType } from "./failure.ts";
import { ConnectionScope } from "./inbound-event.ts";
import { reauthorize } from "./topics/topics.ts";

/** The control types that only the server sends. A new control type is added here or handled below. */
type ServerControlType = (typeof CONTROL)[
  | "hello"
  | "error"
  | "progress"
  | "gap"
  | "drain"
  | "sync"
  | "pong"
  | "joined"
  | "left"
  | "ask"
  // Requests with a route of their own.
  | "join"
  | "leave"
  | "members"];

export function handleControl(connection: Connection, envelope: Envelope): void {
  const control = envelope.type as ControlType;
  switch (control) {
    case CONTROL.ping:
      connection.send(CONTROL.pong);
      return;
    case CONTROL.abort:
      return abort(connection, correlationOf(envelope));
    case CONTROL.credit:
      return grant(connection, correlationOf(envelope), creditIn(envelope));
    case CONTROL.answer:
      return connection.answered(correlationOf(envelope), envelope);
    case CONTROL.synced:
      return connection.acknowledge(field(envelope, "id"));
    case CONTROL.auth:
      return refresh(connection, field(envelope, "token"));
    default:
      control satisfies ServerControlType;
      throw new WsError(
        "INVALID_ARGUMENT",
        `Clients may not send the control type ${quoteType(envelope.type)}. Types beginning with "$ws:" are reserved.`,
      );
  }
}

/** A frame without a call in flight is ignored: the response was sent before the frame arrived. */
function correlationOf({ type, meta }: Envelope): string {
  if (meta.correlationId !== undefined) return meta.correlationId;
  throw new WsError(
    "INVALID_ARGUMENT",
    `The ${type} frame has no meta.correlationId. Set it to the id of the request.`,
  );
}

function abort(connection: Connection, correlationId: string): void {
  connection.calls?.get(correlationId)?.abort();
}

function grant(connection: Connection, correlationId: string, items: number): void {
  connection.calls?.get(correlationId)?.grant(items);
}

function creditIn({ payload }: Envelope): number {
  const items = (payload as Partial<Credit> | null | undefined)?.n;
  if (isCount(items)) return items;
  throw new WsError("INVALID_ARGUMENT", "The payload of $ws:credit has no positive integer `n`.");
}

function refresh(connection: Connection, token: string): void {
  const { refresh } = connection.server;
  if (refresh === undefined)
    throw new WsError(
      "UNIMPLEMENTED",
      "This server does not accept new tokens on an open connection. Reconnect with the new token.",
    );
  if (connection.refreshing) {
    throw new WsError("RESOURCE_EXHAUSTED", "Another token of this connection is being checked.", undefined, {
      retryAfterMs: 1_000,
    });
  }
  connection.refreshing = true;
  void renewAuth(connection, refresh, token).finally(() => {
    connection.refreshing = false;
  });
}

async function renewAuth(
  connection: Connection,
  check: (token: string, data: Connection["data"]) => unknown,
  token: string,
): Promise<void> {
  let newData: unknown;
  try {
    newData = await check(token, connection.data);
  } catch (error) {
    connection.server.reportOutside(error);
  }
  if (!connection.isOpen) return;
  if (typeof newData !== "object" || newData === null)
    return connection.close(CLOSE.unauthenticated, "the new token was refused");
  const { expiresAt, ...fields } = newData as Record<string, unknown>;
  const data = connection.data as Record<string, unknown>;
  const hasChanged = Object.keys(fields).some((name) => fields[name] !== data[name]);
  connection.assignData({ expiresAt: undefined, ...newData });
  // The new token may allow less than the old one.
  if (hasChanged) reauthorize(connection, new ConnectionScope(connection));
  connection.expireAt(expiresAt);
  connection.send(CONTROL.auth, typeof expiresAt === "number" ? { expiresAt } : {});
}

function field(envelope: Envelope, name: string): string {
  const value = (envelope.payload as Record<string, unknown> | null | undefined)?.[name];
  if (typeof value === "string") return value;
  throw new WsError("INVALID_ARGUMENT", `The payload of ${envelope.type} has no string "${name}".`);
}
