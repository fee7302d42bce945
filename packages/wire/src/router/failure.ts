/** The end of every failure: wraps it in a `WsError`, passes it to `onError`, and sends one error frame. */

import { DeclaredFailure } from "../protocol/declared-failure.ts";
import { sanitizeDetails } from "../protocol/details.ts";
import { type ErrorPayload, WsError } from "../protocol/error.ts";
import type { Connection } from "./contracts.ts";
import type { InboundEvent } from "./inbound-event.ts";

const MAX_QUOTED_LENGTH = 64;

/** A frame that reached no handler. Sends an error frame unless a hook suppresses it. */
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
  // This frame must not end another call in flight with the same id.
  const isInUse = correlationId !== undefined && (connection.calls?.has(correlationId) ?? false);
  connection.sendError(payload, isInUse ? undefined : correlationId);
}

/** A handler or middleware threw. */
export function fail(message: InboundEvent, thrown: unknown): void {
  if (message.wasEndedBy(thrown)) return;
  const { server } = message.ws;
  const error = WsError.wrap(thrown, "INTERNAL");
  const suppressed = server.report(error, message);
  const isDeclared = error instanceof DeclaredFailure;
  if (suppressed || !(isDeclared || server.options.autoSendErrorOnThrow)) message.end();
  else message.failWith(visiblePart(error, thrown, isDeclared || server.options.exposeErrorDetails));
}

/** Whether a handler threw because of the end of its call. Platform functions throw the abort signal's reason, or have it as cause. */
export function isCausedBy(thrown: unknown, ending: unknown): boolean {
  return ending !== undefined && (thrown === ending || (thrown as Error | undefined)?.cause === ending);
}

/** What a peer may see of a thrown error: the code and message of a `WsError`, nothing of other errors. */
function visiblePart(error: WsError, thrown: unknown, exposeDetails: boolean): ErrorPayload {
  if (error !== thrown)
    return internal(exposeDetails ? sanitizeDetails({ message: error.message }) : undefined);
  const { details, ...payload } = payloadOf(error);
  return exposeDetails && details !== undefined ? { ...payload, details } : payload;
}

/** Only code and message when the error has no `toPayload`, or its details throw when they are read. */
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

/** A peer's message type for an error message: escaped, and cut to 64 characters, because the peer chose it. */
export function quoteType(type: string): string {
  return JSON.stringify(type.slice(0, MAX_QUOTED_LENGTH));
}
