/** Better Auth's handler as a listener for `node:http` that never rejects. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { toNodeHandler } from "better-auth/node";
import { FeatureFlagError } from "../../model/errors.ts";
import { invalid } from "../../model/inputs.ts";

/** A listener for `node:http`. It never rejects. */
export type NodeHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/**
 * A listener that rejects ends the process, so every error is answered: 400 when no `Request` can be made of what
 * arrived, else 500, and `report` gets the error.
 */
export function createOrdinaryListener(
  handler: (request: Request) => Promise<Response>,
  report: (error: unknown) => void,
): NodeHandler {
  return async (request, response) => {
    let isRequest = false;
    const listener = toNodeHandler((made: Request) => {
      isRequest = true;
      return handler(made);
    });
    try {
      await listener(request, response);
    } catch (error) {
      if (!isRequest) return refuseRequest(response);
      answerFailure(response);
      report(error);
    }
  };
}

/** Answers a request whose target, host or forwarded protocol makes no URL, or whose method HTTP reserves. */
export function refuseRequest(response: ServerResponse): void {
  const message = "the method, target, Host or X-Forwarded-Proto of the request is not valid";
  answerError(response, invalid([{ path: "", message }]));
}

/** Answers a request that failed for an unexpected reason, unless the response has begun. */
export function answerFailure(response: ServerResponse): void {
  answerError(response, new FeatureFlagError("STORAGE_ERROR", "The request could not be answered."));
}

function answerError(response: ServerResponse, { code, message, status, details }: FeatureFlagError): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  // The body, if any, is not read.
  response.writeHead(status, { "content-type": "application/json", connection: "close" });
  response.end(JSON.stringify({ code, message, details }));
}
