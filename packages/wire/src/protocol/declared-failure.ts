/** An error that the schema of its request declares. */
import { type ErrorPayload, WsError } from "./error.ts";

/** Its details are sent as they are, and never logged by the server. */
export class DeclaredFailure extends WsError {
  override toPayload(): ErrorPayload {
    const { code, message, details = {}, retryAfterMs } = this;
    return { code, message, details, ...(retryAfterMs !== undefined && { retryAfterMs }) };
  }
}
