/** Where every failure ends: wrapped once, shown to `onError`, answered with one error frame. */

import { sanitizeDetails } from "../protocol/details.ts";
import { type ErrorPayload, WsError } from "../protocol/error.ts";
import type { Connection } from "./connection.ts";
import type { InboundEvent } from "./inbound-event.ts";

/** A frame that reached no handler: answered unless a hook says otherwise. */
export function refuse(
  connection: Connection,
  type: string | undefined,
  correlationId: string | undefined,
  thrown: unknown,
): void {
  const error = WsError.wrap(thrown, "INTERNAL");
  const suppressed = connection.server.report(error, { clientId: connection.clientId, type });
  if (suppressed) return;
  const payload = error === thrown ? payloadOf(error) : internal();
  // An id in use belongs to the call in flight, which this frame must not end.
  const isTaken = correlationId !== undefined && (connection.calls?.has(correlationId) ?? false);
  connection.sendError(payload, isTaken ? undefined : correlationId);
}

/** A handler or middleware threw. */
export function fail(message: InboundEvent, thrown: unknown): void {
  const { server } = message.ws;
  const error = WsError.wrap(thrown, "INTERNAL");
  const suppressed = server.report(error, message);
  if (suppressed || !server.options.autoSendErrorOnThrow) message.end();
  else message.fail(visiblePart(error, thrown, server.options.exposeErrorDetails));
}

/** What a peer may see of a thrown error: code and message of a `WsError`, nothing of any other. */
function visiblePart(error: WsError, thrown: unknown, exposeDetails: boolean): ErrorPayload {
  if (error !== thrown)
    return internal(exposeDetails ? sanitizeDetails({ message: error.message }) : undefined);
  const { details, ...payload } = payloadOf(error);
  return exposeDetails && details !== undefined ? { ...payload, details } : payload;
}

/** Of an error that only looks like ours, or whose details throw when they are read, code and message are left. */
function payloadOf(error: WsError): ErrorPayload {
  try {
    return error.toPayload();
  } catch {
    return { code: error.code, message: error.message };
  }
}

function internal(details?: Record<string, unknown>): ErrorPayload {
  return { code: "INTERNAL", message: "Internal error", ...(details && { details }) };
}
