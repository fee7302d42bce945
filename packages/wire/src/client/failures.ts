/** The errors a client makes, and those it reads from a server. */
import { type ErrorCode, isTerminal, WsError, type WsErrorOptions } from "../protocol/error.ts";

/** Where an error that no promise carries came from. */
export interface ClientErrorContext {
  /**
   * `parse`: a frame that cannot be read. `validation`: a message that does not fit its schema. `overflow`: a message
   * that was dropped. `unknown`: anything else, an error of the server that answers no request among it.
   */
  readonly type: "parse" | "validation" | "overflow" | "unknown";
  readonly details?: Readonly<Record<string, unknown>>;
}

export function failure(code: ErrorCode, message: string, options?: WsErrorOptions): WsError {
  return new WsError(code, message, undefined, options);
}

/** The error in a `$ws:error` frame, which may say anything. */
export function errorIn(fields: Record<string, unknown>): WsError {
  const code = only("string", fields["code"]) ?? "INTERNAL";
  return new WsError(code, only("string", fields["message"]), only("object", fields["details"]), {
    retryable: only("boolean", fields["retryable"]),
    retryAfterMs: isTerminal(code) ? undefined : only("number", fields["retryAfterMs"]),
  });
}

interface Kinds {
  string: string;
  number: number;
  boolean: boolean;
  object: Record<string, unknown> | null;
}

/** The value, if it is of this kind. */
export function only<Kind extends keyof Kinds>(
  kind: Kind,
  value: unknown,
): NonNullable<Kinds[Kind]> | undefined {
  return typeof value === kind ? ((value as Kinds[Kind]) ?? undefined) : undefined;
}
