/** Causes and remedies for the error codes, close codes and log lines of `@halyard/wire`. */

import { CLOSE } from "../../packages/wire/src/protocol/control.ts";
import { ERROR_CODES, type ErrorCode } from "../../packages/wire/src/protocol/error.ts";
import type { Catalogue, Remedy } from "./entries.ts";
import { LOGS, PARTS } from "./wire-logs.ts";

type CloseReason = keyof typeof CLOSE;

const CODES: Readonly<Record<ErrorCode, Remedy>> = {
  UNAUTHENTICATED: {
    why: "The caller did not sign in, its token was refused, or its token has expired. `requireAuth` and `authenticate` send this code.",
    todo: "Sign in, pass the new token in the client option `auth`, then call `connect()` again. See [Authentication](auth.md).",
  },
  PERMISSION_DENIED: {
    why: "The caller is known but not allowed to do this: its origin, its role, or the topic.",
    todo: "Check `allowedOrigins`, the function that authorizes topics, and the permissions of the user. A retry fails the same way.",
  },
  INVALID_ARGUMENT: {
    why: "The message does not match its schema, is not a JSON object with a type, or uses a reserved type. On the client, an option or argument is invalid.",
    todo: "Read `details.issues`, which lists the fields. Use the same schema on both sides; see [Changing messages safely](changing-messages.md).",
  },
  FAILED_PRECONDITION: {
    why: "The message is valid, but the current state does not allow it. Your handler sends this code.",
    todo: "Change the state first, as the message of the error describes.",
  },
  NOT_FOUND: {
    why: "The object that the message names does not exist. Your handler sends this code.",
    todo: "Check the id or name in the payload.",
  },
  ALREADY_EXISTS: {
    why: "The object exists already, or a request with the same correlation id is in flight.",
    todo: "Use another name, or leave `correlationId` out so that the client creates one.",
  },
  ABORTED: {
    why: "Another caller changed the same data at the same time. Your handler sends this code.",
    todo: "Read the data again, then repeat the whole operation.",
  },
  CANCELLED: {
    why: "The caller cancelled the request, by its signal or by closing the client.",
    todo: "Nothing, if the cancellation was intended. Stop the work of the handler with `ctx.abortSignal`.",
  },
  DEADLINE_EXCEEDED: {
    why: "No response arrived before the timeout of the client (`timeoutMs`) or of the server (`rpcTimeoutMs`). The server may have done the work.",
    todo: "Make the handler faster, report progress, or raise the timeout on both sides. Repeat only requests that are safe to repeat. See [Requests](rpc.md).",
  },
  RESOURCE_EXHAUSTED: {
    why: "A limit is reached: a rate limit, requests in flight, waiting messages, topics, or the size of a message.",
    todo: "Wait `retryAfterMs`, then retry. Send fewer or smaller messages, or raise the limit that the message names. See [Limits](limits.md).",
  },
  UNAVAILABLE: {
    why: "The connection was lost before the response, the server restarts, or a broker such as Redis does not respond.",
    todo: "Retry after the reconnection if the request is safe to repeat. If it lasts, check that the server and its broker run.",
  },
  UNIMPLEMENTED: {
    why: "The server has no handler for the type of the message, or does not support new tokens on an open connection.",
    todo: "Register a handler with `router.on()` or `router.rpc()`, and deploy the server before its clients. For tokens, set the serve option `refresh`.",
  },
  INTERNAL: {
    why: "A handler, middleware or hook threw an error that is not a `WsError`, or the server's own message does not match its schema.",
    todo: "Read the error in `router.onError()` or in the log of the server. To send a reason to the caller, throw a `WsError`. See [Errors](errors.md).",
  },
};

const CLOSE_CODES: Readonly<Record<CloseReason, Remedy>> = {
  policy: {
    why: "Client and server share no protocol version, or the client broke the protocol.",
    todo: "Use compatible versions of `@halyard/wire` on both sides.",
  },
  tooBig: {
    why: "A frame is larger than the receiver's `maxPayloadBytes`.",
    todo: "Send the data in parts, or raise `maxPayloadBytes`. See [Limits](limits.md).",
  },
  restarting: {
    why: "The server shuts down or restarts.",
    todo: "Nothing: the client reconnects. See [Production](wire-operations.md).",
  },
  tryLater: {
    why: "The server has no room now: the peer reads too slowly, a handshake took too long, or the buffer budget is used up.",
    todo: "The client reconnects later. If it repeats, see [Backpressure](backpressure.md) and `handshakeTimeoutMs`.",
  },
  unauthenticated: {
    why: "The server refused the token, or the token has expired.",
    todo: "Sign in, then call `connect()`. See [Authentication](auth.md).",
  },
  forbidden: {
    why: "The server refused the origin, the host or the user, or called `router.disconnect`.",
    todo: "Add the page's origin to `allowedOrigins`, or check the permissions of the user. The client does not reconnect by itself.",
  },
  heartbeatLost: {
    why: "The peer did not answer the heartbeat in time: its network or its device is gone.",
    todo: "Nothing for single connections. If many close together, check the network and the proxy.",
  },
};

export const wire: Catalogue = {
  page: "docs/guide/wire-troubleshooting.md",
  title: "Wire: troubleshooting",
  opening:
    "Find an error code, a close code or a log line of `@halyard/wire`, with its cause and what to do. Search this page for the text you see; `…` stands for a value.",
  sources: ["packages/wire/src/", "packages/devtools/src/asyncapi/", "packages/devtools/src/inspector/"],
  codes: Object.entries(ERROR_CODES).map(([code, { class: errorClass, retryable }]) => ({
    code,
    facts: `Class \`${errorClass}\`, ${retryable ? "retryable" : "not retryable"} by default.`,
    remedy: CODES[code as ErrorCode],
  })),
  more: [
    {
      heading: "Close codes",
      opening:
        "A connection ends with one of these codes. `1006` is not sent: the connection broke without a close frame.",
      items: Object.entries(CLOSE).map(([reason, code]) => ({
        name: String(code),
        remedy: CLOSE_CODES[reason as CloseReason],
      })),
    },
  ],
  logs: LOGS,
  parts: PARTS,
  related:
    "[Errors](errors.md) · [Client](client.md) · [Authentication](auth.md) · [Production](wire-operations.md) · [Limits](limits.md)",
};
