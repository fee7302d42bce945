/** Control frames a client sends: abort, ping, synced, auth. None of them reaches a handler. */
import { CLOSE, CONTROL } from "../protocol/control.ts";
import type { Envelope } from "../protocol/envelope.ts";
import { WsError } from "../protocol/error.ts";
import type { Connection } from "./connection.ts";

export function handleControl(connection: Connection, envelope: Envelope): void {
  switch (envelope.type) {
    case CONTROL.ping:
      connection.send(CONTROL.pong);
      return;
    case CONTROL.abort:
      return abort(connection, envelope.meta.correlationId);
    case CONTROL.synced:
      return connection.acknowledge(field(envelope, "id"));
    case CONTROL.auth:
      return refresh(connection, field(envelope, "token"));
    default:
      throw new WsError(
        "INVALID_ARGUMENT",
        "Types beginning with $ws: belong to the protocol, and this is none that a client sends.",
      );
  }
}

/** An abort of a call that is over or unknown is silent: it crossed the answer on its way. */
function abort(connection: Connection, correlationId: string | undefined): void {
  if (correlationId === undefined)
    throw new WsError("INVALID_ARGUMENT", "An abort names its request in meta.correlationId.");
  connection.calls?.get(correlationId)?.abort();
}

function refresh(connection: Connection, token: string): void {
  const { refresh } = connection.server;
  if (refresh === undefined)
    throw new WsError("UNIMPLEMENTED", "This server does not take new tokens on an open connection.");
  if (connection.refreshing) {
    throw new WsError("RESOURCE_EXHAUSTED", "A new token is being checked already.", undefined, {
      retryAfterMs: 1_000,
    });
  }
  connection.refreshing = true;
  void renew(connection, refresh, token).finally(() => {
    connection.refreshing = false;
  });
}

async function renew(
  connection: Connection,
  check: (token: string, data: Connection["data"]) => unknown,
  token: string,
): Promise<void> {
  let fresh: unknown;
  try {
    fresh = await check(token, connection.data);
  } catch (error) {
    connection.server.reportOutside(error);
  }
  if (!connection.isOpen) return;
  if (typeof fresh !== "object" || fresh === null)
    return connection.close(CLOSE.unauthenticated, "the new token was refused");
  const { expiresAt } = fresh as { expiresAt?: unknown };
  connection.assignData({ expiresAt: undefined, ...fresh });
  connection.expireAt(expiresAt);
  connection.send(CONTROL.auth, typeof expiresAt === "number" ? { expiresAt } : {});
}

function field(envelope: Envelope, name: string): string {
  const value = (envelope.payload as Record<string, unknown> | null | undefined)?.[name];
  if (typeof value === "string") return value;
  throw new WsError("INVALID_ARGUMENT", `The payload of ${envelope.type} has no string "${name}".`);
}
