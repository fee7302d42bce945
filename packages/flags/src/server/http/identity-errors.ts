/** The one place where an error of @halyard/sessions becomes an error of the service. */
import { IdentityError, type IdentityProblem } from "@halyard/sessions/plugin";
import { FeatureFlagError, type FeatureFlagErrorCode } from "../../model/errors.ts";

const ANSWERS: Readonly<Record<IdentityProblem, { code: FeatureFlagErrorCode; status: 401 | 429 | 503 }>> = {
  "not-signed-in": { code: "PERMISSION_DENIED", status: 401 },
  "invalid-key": { code: "PERMISSION_DENIED", status: 401 },
  "too-many-lookups": { code: "RATE_LIMIT_EXCEEDED", status: 429 },
  "key-exhausted": { code: "RATE_LIMIT_EXCEEDED", status: 429 },
  unavailable: { code: "STORAGE_ERROR", status: 503 },
};

/** Any other error stays as it is. */
export function withFlagCode(error: unknown): unknown {
  if (!(error instanceof IdentityError)) return error;
  const { message, problem, retryAfterSeconds, cause } = error;
  const { code, status } = ANSWERS[problem];
  return new FeatureFlagError(code, message, {
    status,
    ...(retryAfterSeconds !== undefined && { details: { retryAfter: retryAfterSeconds } }),
    cause,
  });
}
