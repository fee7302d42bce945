/** The errors a client creates, and those it reads from error frames. */
import { type ErrorCode, isTerminal, WsError, type WsErrorOptions } from "../protocol/error.ts";
import { FATAL, type Loss } from "./connection.ts";
import { text } from "./texts.ts";

/** The context of an error that is reported to `onError` instead of rejecting a promise. */
export interface ClientErrorContext {
  /**
   * `parse`: a frame cannot be read. `validation`: a message does not match its schema. `overflow`: a message was
   * dropped. `unknown`: anything else, such as a server error that belongs to no request.
   */
  readonly type: "parse" | "validation" | "overflow" | "unknown";
  /** More about the failure, depending on `type`. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/** How a connection or an attempt ended: the `info` of `onState`, and the `details` of the error. */
export interface StateInfo {
  /** Failures in a row, from 1: failed attempts, and the loss of the connection before them. */
  readonly attempt: number;
  /** The address of the server, without query and user info. */
  readonly url: string;
  /** The close code; undefined when the server did not respond, and when there was no socket. */
  readonly closeCode?: number | undefined;
  /** The reason in the server's close frame; often empty. */
  readonly reason?: string | undefined;
  /** The delay before the next attempt, in ms; undefined when there is none. */
  readonly nextRetryMs?: number | undefined;
}

export function failure(code: ErrorCode, message: string, options?: WsErrorOptions): WsError {
  return new WsError(code, message, undefined, options);
}

/** The error for an attempt that failed, or an open connection that was lost. Its details are a `StateInfo`. */
export function lossError(
  { code: closeCode, reason, error }: Loss,
  attempt: number,
  wasOpen: boolean,
  url: string,
  nextRetryMs: number | undefined,
): WsError {
  return new WsError(
    FATAL[closeCode ?? 0] ?? "UNAVAILABLE",
    text(wasOpen ? "lost" : "connect", url, closeCode, reason, error),
    { attempt, url, closeCode, reason, nextRetryMs } satisfies StateInfo,
    // The application's own error, if getToken threw one.
    { cause: error?.cause ?? error },
  );
}

/** The error in a `$ws:error` frame; its fields are not trusted. */
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

/** The value if it has this type, else undefined. */
export function only<Kind extends keyof Kinds>(
  kind: Kind,
  value: unknown,
): NonNullable<Kinds[Kind]> | undefined {
  return typeof value === kind ? ((value as Kinds[Kind]) ?? undefined) : undefined;
}
