/** The errors that the console's handler answers by itself. All others come from the operations. */
import type { ConsoleError } from "../api.ts";

const ERRORS = {
  MISSING_CONSOLE_HEADER: {
    status: 403,
    message:
      "The request lacks the header x-halyard-console: 1. Send it with every request to the console's API.",
  },
  CROSS_ORIGIN_REQUEST: {
    status: 403,
    message:
      "The request comes from another origin than the console's. Open the console at its own address; behind a proxy, set baseURL of Better Auth to that address.",
  },
  NOT_FOUND: { status: 404, message: "The console has no such path. Check the address and basePath." },
  METHOD_NOT_ALLOWED: { status: 405, message: "The path does not take this method." },
  BODY_TOO_LARGE: { status: 413, message: "The body has more than 256 KiB. Send less at once." },
  APP_NOT_BUILT: {
    status: 503,
    message:
      "The files of the console's application are missing. Install @halyard/console again; in the repository, run npm run build.",
  },
  APP_NOT_LOADED: {
    status: 500,
    message:
      "The files of the console's application could not be loaded. The log of the server has the error.",
  },
} as const;

export type ConsoleErrorCode = keyof typeof ERRORS;

export function refuse(code: ConsoleErrorCode): Response {
  const { status, message } = ERRORS[code];
  const body: ConsoleError = { code, message };
  return Response.json(body, { status });
}
