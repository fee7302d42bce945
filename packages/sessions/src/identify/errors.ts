/** The one error of this folder: the caller could not be identified. */

/** Why a caller could not be identified. */
export type IdentityProblem =
  /** The operation needs a signed-in user or an API key, and the request has neither. */
  | "not-signed-in"
  | "invalid-key"
  /** The lookup of the credentials was not made; see `LookupGuard`. */
  | "too-many-lookups"
  /** The API key has used up its requests. */
  | "key-exhausted"
  /** The database with sessions, keys or organizations did not answer. */
  | "unavailable";

/** The options of `IdentityError`. */
export interface IdentityErrorOptions {
  /** When a retry may succeed. */
  readonly retryAfterSeconds?: number | undefined;
  /** The original error. */
  readonly cause?: unknown;
}

/** The caller of a request could not be identified. */
export class IdentityError extends Error {
  /** Always `IdentityError`. */
  override readonly name = "IdentityError";
  /** Why the caller could not be identified. */
  readonly problem: IdentityProblem;
  /** Undefined when a retry does not help, or when it is not known when it will. */
  readonly retryAfterSeconds: number | undefined;

  constructor(problem: IdentityProblem, message: string, options: IdentityErrorOptions = {}) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.problem = problem;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }

  /** Recognizes the errors of every copy of this package. */
  static override [Symbol.hasInstance](value: unknown): value is IdentityError {
    return value instanceof Error && value.name === "IdentityError" && "problem" in value;
  }
}

const RETRY_AFTER_SECONDS = 5;

/** A caller who cannot be identified is never treated as an anonymous visitor: the request fails with this. */
export function unavailable(message: string, cause?: unknown): IdentityError {
  return new IdentityError("unavailable", message, { retryAfterSeconds: RETRY_AFTER_SECONDS, cause });
}
