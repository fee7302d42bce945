/** The console's handler as a listener for `node:http` that never rejects. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { toNodeHandler } from "better-auth/node";

/** A listener that rejects ends the process, so every error is answered: 400 for what is no request, else 500. */
export function createNodeListener(
  handler: (request: Request) => Promise<Response>,
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  return async (request, response) => {
    let isRequest = false;
    const listener = toNodeHandler((made: Request) => {
      isRequest = true;
      return handler(made);
    });
    try {
      await listener(request, response);
    } catch (error) {
      if (isRequest) console.error("[halyard-console] A request could not be answered.", nameOf(error));
      answerFailure(response, isRequest ? 500 : 400);
    }
  };
}

/** Without the message, which may hold values of the request. */
function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : "unknown error";
}

function answerFailure(response: ServerResponse, status: 400 | 500): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  // The body, if any, is not read.
  response.writeHead(status, { "content-type": "application/json", connection: "close" });
  const message =
    status === 400
      ? "The request has a malformed target, host or method."
      : "The request could not be answered.";
  response.end(JSON.stringify({ code: status === 400 ? "INVALID_REQUEST" : "INTERNAL_ERROR", message }));
}
