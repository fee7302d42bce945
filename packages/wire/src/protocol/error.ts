/** `WsError`, the error class of server and client, and the table of its thirteen standard codes. */
import { sanitizeDetails } from "./details.ts";

/** Whether a retry can help: `terminal` no, `transient` later, `server` a fault of the server. */
export type ErrorClass = "terminal" | "transient" | "server";

/** What a standard code means. */
export interface ErrorCodeInfo {
  /** `terminal`: a retry fails the same way. `transient`: a later retry may succeed. `server`: a fault of the server. */
  readonly class: ErrorClass;
  /** Whether a caller may retry when the server does not specify it. */
  readonly retryable: boolean;
}

/** A retry fails the same way; except after `ABORTED`, when the whole operation is repeated. */
const TERMINAL = [
  "UNAUTHENTICATED",
  "PERMISSION_DENIED",
  "INVALID_ARGUMENT",
  "FAILED_PRECONDITION",
  "NOT_FOUND",
  "ALREADY_EXISTS",
  "ABORTED",
  "CANCELLED",
] as const;
const TRANSIENT = ["DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED", "UNAVAILABLE"] as const;
const SERVER = ["UNIMPLEMENTED", "INTERNAL"] as const;

/** The codes that do not allow `retryAfterMs`. */
export type TerminalCode = (typeof TERMINAL)[number];

/** The standard error codes. */
export type ErrorCode = (typeof TERMINAL | typeof TRANSIENT | typeof SERVER)[number];

/** A standard code, or a code of the application; the latter is not retryable unless `retryable` is set. */
export type AnyErrorCode = ErrorCode | (string & {});

/** Whether the code does not allow `retryAfterMs`. */
export function isTerminal(code: AnyErrorCode): boolean {
  return TERMINAL.includes(code as never);
}

function isRetryable(code: AnyErrorCode): boolean {
  return code === "ABORTED" || TRANSIENT.includes(code as never);
}

function table(
  errorClass: ErrorClass,
  codes: readonly ErrorCode[],
): readonly (readonly [ErrorCode, ErrorCodeInfo])[] {
  return codes.map((code) => [code, { class: errorClass, retryable: isRetryable(code) }]);
}

/**
 * The standard codes: their class, and whether a caller may retry when the server does not specify it.
 *
 * @see {@link https://github.com/halyard/halyard/blob/main/docs/guide/wire-troubleshooting.md | Causes and remedies}
 */
export const ERROR_CODES: Readonly<Record<ErrorCode, ErrorCodeInfo>> = /* @__PURE__ */ (() =>
  Object.fromEntries([
    ...table("terminal", TERMINAL),
    ...table("transient", TRANSIENT),
    ...table("server", SERVER),
  ]) as Record<ErrorCode, ErrorCodeInfo>)();

/** Details of an error, as JSON. */
export type ErrorDetails = Record<string, unknown>;

/** The payload of a `$ws:error` frame. */
export interface ErrorPayload {
  /** A standard code, or one of the application. */
  code: AnyErrorCode;
  /** For people. */
  message?: string;
  /** Reduced to 4 KiB of JSON without secrets. */
  details?: ErrorDetails;
  /** Whether a retry may succeed. */
  retryable?: boolean;
  /** How long to wait before a retry, in ms. */
  retryAfterMs?: number;
}

/** Options of `new WsError()`. */
export interface WsErrorOptions {
  /** Overrides the default of the code. */
  readonly retryable?: boolean | undefined;
  /** How long to wait before a retry, in ms. Only for codes that are not terminal. */
  readonly retryAfterMs?: number | undefined;
  /** The original error; kept for logs, never sent. */
  readonly cause?: unknown;
}

/**
 * The error of every failed operation, on server and client. Throw it in a handler to send its code and message.
 *
 * @see {@link https://github.com/halyard/halyard/blob/main/docs/guide/wire-troubleshooting.md | Causes and remedies of each code}
 *
 * @example
 * ```ts
 * import { WsError } from "@halyard/wire";
 *
 * throw new WsError("NOT_FOUND", "No such room", { room: "general" });
 * ```
 */
export class WsError extends Error {
  /** Always `WsError`. */
  override readonly name = "WsError";
  /** A standard code, or one of the application. */
  readonly code: AnyErrorCode;
  /** Details for the peer. */
  readonly details: ErrorDetails | undefined;
  /** How long to wait before a retry, in ms. */
  readonly retryAfterMs: number | undefined;
  readonly #retryable: boolean | undefined;

  constructor(
    code: AnyErrorCode,
    message: string = code,
    details?: ErrorDetails,
    options: WsErrorOptions = {},
  ) {
    super(message, options);
    const { retryable, retryAfterMs } = options;
    if (retryAfterMs !== undefined && isTerminal(code)) {
      throw new TypeError(`${code} does not allow retryAfterMs. Leave it out.`);
    }
    this.code = code;
    this.details = details;
    this.retryAfterMs = retryAfterMs;
    this.#retryable = retryable;
  }

  /** The same as the constructor, without options. */
  static from(code: AnyErrorCode, message?: string, details?: ErrorDetails): WsError {
    return new WsError(code, message, details);
  }

  /** Returns a `WsError` unchanged; wraps anything else and keeps the original as `cause`. */
  static wrap(error: unknown, code: AnyErrorCode, message?: string, details?: ErrorDetails): WsError {
    if (WsError.isWsError(error)) return error;
    return new WsError(code, message ?? messageOf(error), details, { cause: error });
  }

  /** Works across two installed copies of the package, unlike `instanceof`. */
  static isWsError(value: unknown): value is WsError {
    return value instanceof Error && value.name === "WsError" && typeof (value as WsError).code === "string";
  }

  /** The explicit `retryable`, else the default of the code. */
  get retryable(): boolean {
    return this.#retryable ?? isRetryable(this.code);
  }

  /** The same as `cause`. */
  get originalError(): unknown {
    return this.cause;
  }

  /** For logs: with stack and cause. */
  toJSON(): Record<string, unknown> {
    const { name, code, message, details, retryable, retryAfterMs, stack, cause } = this;
    return {
      name,
      code,
      message,
      details,
      retryable,
      retryAfterMs,
      stack,
      cause:
        cause instanceof Error ? { name: cause.name, message: cause.message, stack: cause.stack } : cause,
    };
  }

  /** For the peer: the payload of an error frame, sanitised, without stack and cause. */
  toPayload(): ErrorPayload {
    const { code, message, retryAfterMs } = this;
    const details = sanitizeDetails(this.details);
    const retryable = this.#retryable;
    // The JSON round trip removes undefined fields.
    return JSON.parse(JSON.stringify({ code, message, details, retryable, retryAfterMs }));
  }
}

/** The text of anything thrown, even of a value that cannot be converted to a string. */
export function messageOf(error: unknown): string {
  try {
    return String(error instanceof Error ? error.message : error);
  } catch {
    return "Unknown error";
  }
}
