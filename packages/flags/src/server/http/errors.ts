/** How failures are answered: every error leaves the server as `{ code, message, details? }`. */

import { APIError } from "@better-auth/core/error";
import { isServerCall } from "@halyard/sessions/plugin";
import { isAPIError } from "better-auth/api";
import { type ErrorStatus, FeatureFlagError, type FeatureFlagErrorCode } from "../../model/errors.ts";
import { HELP } from "../help.ts";
import { loggable } from "../metrics/loggable.ts";
import type { HostContext, HostRequest } from "./host-request.ts";
import { withFlagCode } from "./identity-errors.ts";

/** An error as the caller sees it. */
export interface Refusal {
  readonly status: ErrorStatus;
  readonly body: { readonly code: string; readonly message: string; readonly details?: object };
  /** Value of the `retry-after` header, in seconds. */
  readonly retryAfter?: number;
  /** What the operator must do, for server code. */
  readonly advice?: string;
}

/** An unexpected error gets the code `fallback`; its own message goes to the log, never to the caller. */
export function refusalOf(
  error: unknown,
  fallback: FeatureFlagErrorCode,
  logger: Pick<HostContext["logger"], "error">,
): Refusal {
  const { code, message, status, details, cause, advice } = FeatureFlagError.wrap(
    withFlagCode(error),
    fallback,
  );
  const logged = advice === undefined ? message : `${message} ${advice}`;
  if (status === 500 || advice !== undefined)
    logger.error(`[feature-flags] ${logged} (${HELP}#${code.toLowerCase()})`, loggable(cause ?? ""));
  const retryAfter = status === 429 || status === 503 ? details?.["retryAfter"] : undefined;
  return {
    status,
    body: { code, message, ...(details && { details }) },
    ...(typeof retryAfter === "number" && { retryAfter }),
    ...(advice !== undefined && { advice }),
  };
}

/** Runs the work; an error becomes the `APIError` that Better Auth answers with. */
export async function answer<Result>(
  request: HostRequest,
  fallback: FeatureFlagErrorCode,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (isAPIError(error)) throw error;
    const refusal = refusalOf(error, fallback, request.context.logger);
    const { advice, body } = refusal;
    const isAdvised = advice !== undefined && isServerCall(request);
    throw refuse(
      request,
      refusal,
      isAdvised ? { ...body, message: `${body.message} ${advice}` } : body,
      error,
    );
  }
}

/** The `APIError` for a refusal, with `retry-after` set on the response. */
export function refuse(
  request: HostRequest,
  { status, retryAfter }: Refusal,
  body: object,
  cause: unknown,
): APIError {
  if (retryAfter !== undefined) request.setHeader("retry-after", String(retryAfter));
  const refused = new APIError(status, { ...body });
  refused.cause = cause;
  return refused;
}
