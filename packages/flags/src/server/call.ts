/** One call to the service, over HTTP or through `auth.api`, and how its failures are answered. */
import type { GenericEndpointContext } from "@better-auth/core";
import { APIError } from "@better-auth/core/error";
import { getIP, isAPIError } from "better-auth/api";
import type { Origin } from "../model/audit.ts";
import { FeatureFlagError, type FeatureFlagErrorCode } from "../model/errors.ts";
import { MAX_LINE } from "../model/inputs.ts";

export type Call = GenericEndpointContext;

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

/**
 * The one place where an error becomes an answer, `{ code, message, details? }`. What is not ours gets `fallback` as
 * its code; its own message goes to the log and never to the caller.
 */
export async function answer<Result>(
  call: Call,
  fallback: FeatureFlagErrorCode,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (isAPIError(error)) throw error;
    const { code, message, status, details, cause } = FeatureFlagError.wrap(error, fallback);
    if (status === 500) call.context.logger.error(`[feature-flags] ${message}`, cause ?? "");
    const retryAfter = status === 429 ? details?.["retryAfter"] : undefined;
    if (typeof retryAfter === "number") call.setHeader("retry-after", String(retryAfter));
    const answered = new APIError(status, { code, message, ...(details && { details }) });
    answered.cause = error;
    throw answered;
  }
}
