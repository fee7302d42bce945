/** The one error of both ends: `WsError`, and the table of its thirteen standard codes. */
import { sanitizeDetails } from "./details.ts";

export type ErrorClass = "terminal" | "transient" | "server";

export interface ErrorCodeInfo {
  /** `terminal`: trying again changes nothing. `transient`: later may work. `server`: a fault or gap of the server. */
  readonly class: ErrorClass;
  /** What a caller assumes when the server does not say. */
  readonly retryable: boolean;
}

export type ErrorCode =
  | "UNAUTHENTICATED"
  | "PERMISSION_DENIED"
  | "INVALID_ARGUMENT"
  | "FAILED_PRECONDITION"
  | "NOT_FOUND"
  | "ALREADY_EXISTS"
  | "ABORTED"
  | "CANCELLED"
  | "DEADLINE_EXCEEDED"
  | "RESOURCE_EXHAUSTED"
  | "UNAVAILABLE"
  | "UNIMPLEMENTED"
  | "INTERNAL";

/** A standard code, or a code of the application's own (not retryable unless it says so). */
export type AnyErrorCode = ErrorCode | (string & {});

const terminal: ErrorCodeInfo = { class: "terminal", retryable: false };
const transient: ErrorCodeInfo = { class: "transient", retryable: true };
const server: ErrorCodeInfo = { class: "server", retryable: false };

/** The standard codes: their class, and whether a caller may retry when the server does not say. */
export const ERROR_CODES: Readonly<Record<ErrorCode, ErrorCodeInfo>> = {
  UNAUTHENTICATED: terminal,
  PERMISSION_DENIED: terminal,
  INVALID_ARGUMENT: terminal,
  FAILED_PRECONDITION: terminal,
  NOT_FOUND: terminal,
  ALREADY_EXISTS: terminal,
  ABORTED: { class: "terminal", retryable: true },
  CANCELLED: terminal,
  DEADLINE_EXCEEDED: transient,
  RESOURCE_EXHAUSTED: transient,
  UNAVAILABLE: transient,
  UNIMPLEMENTED: server,
  INTERNAL: server,
};

export type ErrorDetails = Record<string, unknown>;

/** The payload of a `$ws:error` frame. */
export interface ErrorPayload {
  code: AnyErrorCode;
  message?: string;
  details?: ErrorDetails;
  retryable?: boolean;
  retryAfterMs?: number;
}

export interface WsErrorOptions {
  /** Overrides what the code implies. */
  readonly retryable?: boolean | undefined;
  /** When to try again, in ms. Only for codes that are not terminal. */
  readonly retryAfterMs?: number | undefined;
  /** The error behind this one; kept for logs, never sent. */
  readonly cause?: unknown;
}

/**
 * Every failure of wire, on either end.
 *
 * @example
 * ```ts
 * import { WsError } from "@halyard/wire";
 *
 * throw new WsError("NOT_FOUND", "No such room", { room: "general" });
 * ```
 */
export class WsError extends Error {
  override readonly name = "WsError";
  readonly code: AnyErrorCode;
  readonly details: ErrorDetails | undefined;
  readonly retryAfterMs: number | undefined;
  readonly #retryable: boolean | undefined;

  constructor(code: AnyErrorCode, message?: string, details?: ErrorDetails, options: WsErrorOptions = {}) {
    super(message ?? code, options.cause === undefined ? undefined : { cause: options.cause });
    if (options.retryAfterMs !== undefined && infoOf(code)?.class === "terminal") {
      throw new TypeError(
        `retryAfterMs is not allowed with ${code}: it is terminal, so trying again cannot help. Leave it out.`,
      );
    }
    this.code = code;
    this.details = details;
    this.retryAfterMs = options.retryAfterMs;
    this.#retryable = options.retryable;
  }

  static from(code: AnyErrorCode, message?: string, details?: ErrorDetails): WsError {
    return new WsError(code, message, details);
  }

  /** Gives back a `WsError` as it is; makes one of anything else and keeps the original as `cause`. */
  static wrap(error: unknown, code: AnyErrorCode, message?: string, details?: ErrorDetails): WsError {
    if (WsError.isWsError(error)) return error;
    const text = message ?? textOf(error);
    return new WsError(code, text, details, { cause: error });
  }

  /** Works across two installed copies of the package, which `instanceof` does not. */
  static isWsError(value: unknown): value is WsError {
    return (
      value instanceof Error && value.name === "WsError" && "code" in value && typeof value.code === "string"
    );
  }

  /** What the server said, else what the code implies. */
  get retryable(): boolean {
    return this.#retryable ?? infoOf(this.code)?.retryable ?? false;
  }

  get originalError(): unknown {
    return this.cause;
  }

  /** For logs: with stack and cause. */
  toJSON(): Record<string, unknown> {
    const { cause } = this;
    return {
      name: this.name,
      code: this.code,
      message: this.message,
      details: this.details,
      retryable: this.retryable,
      retryAfterMs: this.retryAfterMs,
      stack: this.stack,
      cause:
        cause instanceof Error ? { name: cause.name, message: cause.message, stack: cause.stack } : cause,
    };
  }

  /** For the peer: the payload of an error frame, sanitised, without stack and cause. */
  toPayload(): ErrorPayload {
    const payload: ErrorPayload = { code: this.code, message: this.message };
    const details = sanitizeDetails(this.details);
    if (details !== undefined) payload.details = details;
    if (this.#retryable !== undefined) payload.retryable = this.#retryable;
    if (this.retryAfterMs !== undefined) payload.retryAfterMs = this.retryAfterMs;
    return payload;
  }
}

/** Anything can be thrown, also what refuses to become text. */
function textOf(error: unknown): string {
  try {
    return String(error instanceof Error ? error.message : error);
  } catch {
    return "An error that cannot be shown as text.";
  }
}

function infoOf(code: string): ErrorCodeInfo | undefined {
  return Object.hasOwn(ERROR_CODES, code) ? ERROR_CODES[code as ErrorCode] : undefined;
}
