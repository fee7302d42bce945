/** One call to the service, over HTTP or through `auth.api`, and how its failures are answered. */
import type { GenericEndpointContext } from "@better-auth/core";
import { APIError } from "@better-auth/core/error";
import { getIP, isAPIError } from "better-auth/api";
import type { Origin } from "../model/audit.ts";
import { type ErrorStatus, FeatureFlagError, type FeatureFlagErrorCode } from "../model/errors.ts";
import { MAX_LINE } from "../model/inputs.ts";
import { loggable } from "./loggable.ts";

/** What operations use of a call. Better Auth's own context of an endpoint is one, and so is that of the fast path. */
export interface Call
  extends Pick<
    GenericEndpointContext,
    "body" | "query" | "params" | "headers" | "context" | "setHeader" | "setStatus" | "responseHeaders"
  > {
  /** Present for requests over HTTP. */
  readonly request?: { readonly headers: Headers } | undefined;
  /** Reads single headers where making all of them is a cost of its own. */
  readonly reader?: HeaderReader | undefined;
}

export type HeaderReader = Pick<Headers, "get">;

/** Headers that say how to evaluate, not for whom: with only these, a call is still the server's own. */
const NEUTRAL_HEADERS: ReadonlySet<string> = new Set(["idempotency-key", "x-deployment-ring"]);

/** Server code calling `auth.api` on its own behalf: whoever passes headers acts for the one they belong to. */
export function isServerCall(call: Call): boolean {
  return call.request === undefined && call.headers === undefined;
}

/** The same for evaluations, which may be told their ring by a header. */
export function isServerEvaluation(call: Call): boolean {
  if (call.request !== undefined) return false;
  if (call.headers === undefined) return true;
  const names = [...headersOf(call).keys()];
  return names.length > 0 && names.every((header) => NEUTRAL_HEADERS.has(header));
}

/** For those who need some of the headers only. */
export function headerReaderOf(call: Call): HeaderReader {
  return call.reader ?? headersOf(call);
}

export function headersOf(call: Call): Headers {
  return call.headers instanceof Headers ? call.headers : new Headers(call.headers ?? call.request?.headers);
}

/** Where a change came from, for the audit log. */
export function originOf(call: Call): Origin {
  if (isServerCall(call)) return {};
  const headers = headersOf(call);
  const ip = getIP(headers, call.context.options);
  const userAgent = headers.get("user-agent")?.slice(0, MAX_LINE);
  const requestId = headers.get("x-request-id")?.slice(0, MAX_LINE);
  return { ...(ip && { ip }), ...(userAgent && { userAgent }), ...(requestId && { requestId }) };
}

/** An error as its caller is told of it. */
export interface Refusal {
  readonly status: ErrorStatus;
  readonly body: { readonly code: string; readonly message: string; readonly details?: object };
  /** For the header of this name, in seconds. */
  readonly retryAfter?: number;
}

/** What is not ours gets `fallback` as its code; its own message goes to the log and never to the caller. */
export function refusalOf(error: unknown, fallback: FeatureFlagErrorCode, log: Logger): Refusal {
  const { code, message, status, details, cause } = FeatureFlagError.wrap(error, fallback);
  if (status === 500) log.error(`[feature-flags] ${message}`, loggable(cause ?? ""));
  const retryAfter = status === 429 || status === 503 ? details?.["retryAfter"] : undefined;
  return {
    status,
    body: { code, message, ...(details && { details }) },
    ...(typeof retryAfter === "number" && { retryAfter }),
  };
}

type Logger = Pick<Call["context"]["logger"], "error">;

/** The one place where an error becomes an answer, `{ code, message, details? }`. */
export async function answer<Result>(
  call: Call,
  fallback: FeatureFlagErrorCode,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (isAPIError(error)) throw error;
    const { status, body, retryAfter } = refusalOf(error, fallback, call.context.logger);
    if (retryAfter !== undefined) call.setHeader("retry-after", String(retryAfter));
    const answered = new APIError(status, body);
    answered.cause = error;
    throw answered;
  }
}
