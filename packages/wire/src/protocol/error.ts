/** The one error of both ends: `WsError`, and the table of its thirteen standard codes. */
import { sanitizeDetails } from "./details.ts";

export type ErrorClass = "terminal" | "transient" | "server";

export interface ErrorCodeInfo {
  /** `terminal`: trying again changes nothing. `transient`: later may work. `server`: a fault or gap of the server. */
  readonly class: ErrorClass;
  /** What a caller assumes when the server does not say. */
  readonly retryable: boolean;
}

/** Trying again changes nothing; of these only `ABORTED` is worth a retry, from the beginning. */
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

export type ErrorCode = (typeof TERMINAL | typeof TRANSIENT | typeof SERVER)[number];

/** A standard code, or a code of the application's own (not retryable unless it says so). */
export type AnyErrorCode = ErrorCode | (string & {});

/** Whether `retryAfterMs` is forbidden beside it. */
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

/** The standard codes: their class, and whether a caller may retry when the server does not say. */
export const ERROR_CODES: Readonly<Record<ErrorCode, ErrorCodeInfo>> = /* @__PURE__ */ (() =>
  Object.fromEntries([
    ...table("terminal", TERMINAL),
    ...table("transient", TRANSIENT),
    ...table("server", SERVER),
  ]) as Record<ErrorCode, ErrorCodeInfo>)();

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

  constructor(
    code: AnyErrorCode,
    message: string = code,
    details?: ErrorDetails,
    options: WsErrorOptions = {},
  ) {
    super(message, options);
    const { retryable, retryAfterMs } = options;
    if (retryAfterMs !== undefined && isTerminal(code)) {
      throw new TypeError(`${code} is terminal, so it takes no retryAfterMs.`);
    }
    this.code = code;
    this.details = details;
    this.retryAfterMs = retryAfterMs;
    this.#retryable = retryable;
  }

  static from(code: AnyErrorCode, message?: string, details?: ErrorDetails): WsError {
    return new WsError(code, message, details);
  }

  /** Gives back a `WsError` as it is; makes one of anything else and keeps the original as `cause`. */
  static wrap(error: unknown, code: AnyErrorCode, message?: string, details?: ErrorDetails): WsError {
    if (WsError.isWsError(error)) return error;
    return new WsError(code, message ?? textOf(error), details, { cause: error });
  }

  /** Works across two installed copies of the package, which `instanceof` does not. */
  static isWsError(value: unknown): value is WsError {
    return value instanceof Error && value.name === "WsError" && typeof (value as WsError).code === "string";
  }

  /** What the server said, else what the code implies. */
  get retryable(): boolean {
    return this.#retryable ?? isRetryable(this.code);
  }

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
    // Through JSON, so that what is undefined is absent.
    return JSON.parse(JSON.stringify({ code, message, details, retryable, retryAfterMs }));
  }
}

/** Anything can be thrown, also what refuses to become text. */
function textOf(error: unknown): string {
  try {
    return String(error instanceof Error ? error.message : error);
  } catch {
    return "An error without text.";
  }
}
