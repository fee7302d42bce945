/** The table of error codes, and the error class that carries one of them. */
import { defineErrorCodes } from "@better-auth/core/utils/error-codes";

/** The `code` of an error response. */
export type FeatureFlagErrorCode =
  | "FLAG_NOT_FOUND"
  | "INVALID_FLAG_TYPE"
  | "EVALUATION_ERROR"
  | "PERMISSION_DENIED"
  | "VALIDATION_ERROR"
  | "STORAGE_ERROR"
  | "RATE_LIMIT_EXCEEDED";

/** The error codes with their default messages. */
export type FeatureFlagErrorCodes = {
  readonly [Code in FeatureFlagErrorCode]: { readonly code: Code; message: string };
};

/**
 * Every error code of the service, with its default message.
 *
 * @see {@link https://github.com/halyard/halyard/blob/main/docs/guide/flags-troubleshooting.md | Causes and remedies}
 */
export const FEATURE_FLAG_ERROR_CODES: FeatureFlagErrorCodes = defineErrorCodes({
  FLAG_NOT_FOUND: "The feature flag does not exist.",
  INVALID_FLAG_TYPE: "The flag type is unknown, or a value does not fit it.",
  EVALUATION_ERROR: "The feature flag could not be evaluated.",
  PERMISSION_DENIED: "You may not do this with feature flags.",
  VALIDATION_ERROR: "The request is not valid.",
  STORAGE_ERROR: "The feature flags could not be read or written.",
  RATE_LIMIT_EXCEEDED: "Too many requests.",
});

export type ErrorStatus = 400 | 401 | 403 | 404 | 409 | 429 | 500 | 503;

const STATUSES: Readonly<Record<FeatureFlagErrorCode, ErrorStatus>> = {
  FLAG_NOT_FOUND: 404,
  INVALID_FLAG_TYPE: 400,
  EVALUATION_ERROR: 500,
  PERMISSION_DENIED: 403,
  VALIDATION_ERROR: 400,
  STORAGE_ERROR: 500,
  RATE_LIMIT_EXCEEDED: 429,
};

export interface FeatureFlagErrorOptions {
  /**
   * When it differs from the default status of the code: 401 for an unauthenticated caller, 409 for a conflict, 503 when
   * the caller cannot be authenticated at the moment.
   */
  readonly status?: ErrorStatus;
  /** Sent to the caller. */
  readonly details?: Readonly<Record<string, unknown>>;
  /** Logged, never sent. */
  readonly cause?: unknown;
  /** What the operator must do. Logged, and added to the message for server code; never sent. */
  readonly advice?: string;
}

export class FeatureFlagError extends Error {
  override readonly name = "FeatureFlagError";
  readonly code: FeatureFlagErrorCode;
  readonly status: ErrorStatus;
  readonly details: Readonly<Record<string, unknown>> | undefined;
  readonly advice: string | undefined;

  constructor(
    code: FeatureFlagErrorCode,
    message: string = FEATURE_FLAG_ERROR_CODES[code].message,
    options: FeatureFlagErrorOptions = {},
  ) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.code = code;
    this.status = options.status ?? STATUSES[code];
    this.details = options.details;
    this.advice = options.advice;
  }

  /** Recognizes the errors of every copy of this package. */
  static override [Symbol.hasInstance](value: unknown): value is FeatureFlagError {
    return value instanceof Error && value.name === "FeatureFlagError" && "status" in value;
  }

  /** Returns a FeatureFlagError unchanged. Any other error becomes the cause of a new one with this code. */
  static wrap(error: unknown, code: FeatureFlagErrorCode): FeatureFlagError {
    return error instanceof FeatureFlagError
      ? error
      : new FeatureFlagError(code, undefined, { cause: error });
  }
}
