/** One call to the service, over HTTP or through `auth.api`, and how its failures are answered. */
import type { GenericEndpointContext } from "@better-auth/core";
import { APIError } from "@better-auth/core/error";
import { isAPIError } from "better-auth/api";
import { FeatureFlagError, type FeatureFlagErrorCode } from "../model/errors.ts";

export type Call = GenericEndpointContext;

/** Server code calling `auth.api` on its own behalf: whoever passes headers acts for the one they belong to. */
export function isServerCall(call: Call): boolean {
  return call.request === undefined && call.headers === undefined;
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
    const answered = new APIError(status, { code, message, ...(details && { details }) });
    answered.cause = error;
    throw answered;
  }
}
