/** The messages of the client's errors: sentences with a remedy, or only a few words in a production build. */
import {
  CLOSE_FORBIDDEN,
  CLOSE_POLICY,
  CLOSE_RESTARTING,
  CLOSE_TRY_LATER,
  CLOSE_UNAUTHENTICATED,
} from "../protocol/control.ts";
import { WsError } from "../protocol/error.ts";

// Bundlers replace it. A page without a bundler has none.
declare const process: { readonly env: { readonly NODE_ENV?: string } };

type Value = string | number | boolean | Error | undefined;

/** The option, event or field concerned. In a production build the message begins with it. */
type Subject =
  | "connect"
  | "lost"
  | "closed"
  | "leave"
  | "misplaced"
  | "members"
  | "call"
  | "client"
  | "provider"
  | "tooLarge"
  | "url"
  | "getToken"
  | "token"
  | "socket"
  | "queue"
  | "overflow"
  | "timeoutMs"
  | "abort"
  | "pendingRequestsLimit"
  | "correlationId"
  | "type"
  | "response"
  | "meta"
  | "close"
  | "frame"
  | "unknownKeys";

/** Why a message was dropped. */
export type Drop = "maxPayloadBytes" | "bufferedAmount" | "queueSize" | "socket" | "closed";

const SENTENCES: Readonly<Record<Subject, (...values: Value[]) => string>> = {
  connect: (url, closeCode, reason, error) =>
    sentences(`Cannot connect to ${url}: ${cause(closeCode, reason, error)}`, remedy(closeCode, error)),
  lost: (url, closeCode, reason, error) =>
    sentences(`The connection to ${url} was lost: ${cause(closeCode, reason, error)}`, refusal(closeCode)),
  closed: () => "The client was closed.",
  leave: () => "leave() was called.",
  misplaced: (type, pattern) =>
    `${type} arrives only in the room of the channel "${pattern}", and only a handler of the client waits for it. Use joinChannel(…).on() or useChannelEvent().`,
  members: () => "The server did not answer the request for members. Call memberPage() again once joined.",
  call: (why) => `The call was not started: ${why} Start it again.`,
  client: () => "The first argument is not a client of wire. Pass what wsClient() returned.",
  provider: () => "This component has no wire client. Render it inside <WireProvider client={…}>.",
  tooLarge: (type, limit) =>
    `The response ${type} is above maxPayloadBytes of the server (${limit}). Return less.`,
  url: (url) =>
    `The url "${url}" is not valid. Begin it with ws://, wss://, http:// or https://; a relative url works only in a page.`,
  getToken: () => "getToken failed.",
  token: () => "The token has characters not allowed in a subprotocol. Encode it, or attach it to the query.",
  socket: (name) => `The socket could not be created: ${name}.`,
  queue: (type, end) =>
    `${type} waits in the queue: ${end ?? "connect() was not called."} Call connect() to send it.`,
  overflow: (type, why, limit) =>
    `${type} was not sent: ${DROPS[why as Drop]}${limit ? ` of ${limit} bytes` : ""}.`,
  timeoutMs: (ms, isSent) =>
    sentences(
      `No ${isSent === undefined ? "connection" : "response"} within ${ms} ms`,
      isSent === false
        ? "The request was not sent, because the client is not connected. Check that connect() was called."
        : undefined,
    ),
  abort: () => "The caller cancelled it.",
  pendingRequestsLimit: (limit) =>
    `${limit} requests are already pending. Wait for one of them, or raise pendingRequestsLimit.`,
  correlationId: (id) => `Request ${id} is already pending. Use another correlationId.`,
  type: (given) => `${given} is not a message schema. Pass what message() or rpc() returned.`,
  response: (type, got, expected) =>
    expected
      ? `The response to ${type} is ${got}, but its schema expects ${expected}. Use the same schema on both sides.`
      : `The schema of ${type} has no response. Declare one, or pass the schema of the response to request().`,
  meta: (key) =>
    `"meta.${key}" is not valid: it must be ${key === "correlationId" ? "a string of 1 to 128 characters" : "a finite number"}.`,
  close: () => "Close with 1000 or 3000 to 4999, and at most 123 bytes of reason.",
  frame: () => "The frame is not a JSON object with a type.",
  unknownKeys: () => 'The frame has an unknown key. Set unknownKeys: "strip" to ignore it.',
};

const DROPS: Readonly<Record<Drop, string>> = {
  maxPayloadBytes: "it is larger than the server's limit",
  bufferedAmount: "the socket's buffer is full",
  queueSize: "the queue is full",
  socket: "there is no open connection",
  closed: "the client is closed",
};

function cause(closeCode: Value, reason: Value, error: Value): string {
  if (error instanceof Error && error.message) return error.message;
  return closeCode ? `close code ${closeCode}${reason && `, ${reason}`}` : "no response";
}

// A function, because a bundler keeps an object with computed keys.
function refusal(closeCode: Value): string | undefined {
  switch (closeCode) {
    case CLOSE_UNAUTHENTICATED:
      return "The server refused the login: sign in again, or check the token.";
    case CLOSE_FORBIDDEN:
    case CLOSE_POLICY:
      return "The server refused this client: check its allowedOrigins and the user's permissions.";
    default:
      return undefined;
  }
}

function remedy(closeCode: Value, error: Value): string | undefined {
  // An error of the client's own, such as a failed getToken, says what to change.
  if (WsError.isWsError(error)) return undefined;
  if (closeCode === CLOSE_RESTARTING || closeCode === CLOSE_TRY_LATER)
    return "The server answered, but cannot take this client now: see the log of the server.";
  return refusal(closeCode) ?? "Check host, port and path, and that the server is running.";
}

function sentences(first: string, second: string | undefined): string {
  return [first.replace(/\.?$/, "."), second].filter(Boolean).join(" ");
}

const REMEDIES = {
  send: "Change the message, or its schema on both sides.",
  receive: 'Use the same schema on both sides, or set unknownKeys: "strip" to ignore new keys.',
} as const;

interface Texts {
  /** The message for this situation. */
  readonly text: (subject: Subject, ...values: Value[]) => string;
  /** An error of schema validation with its first issue and a remedy in the message. */
  readonly explain: (error: WsError, when: "send" | "receive") => WsError;
}

const inFull: Texts = {
  text: (subject, ...values) => SENTENCES[subject](...values),
  explain(error, when) {
    const { code, message, details } = error;
    const [issue] = (details?.["issues"] ?? []) as { path: string; message: string }[];
    if (!issue) return error;
    const where = issue.path && `${issue.path}: `;
    return new WsError(code, `${message} ${where}${issue.message}. ${REMEDIES[when]}`, details);
  },
};

let text: Texts["text"] = (...parts) => parts.join(" ");
let explain: Texts["explain"] = (error) => error;
try {
  // A bundler that replaces `process.env.NODE_ENV` with `"production"` removes the sentences.
  if (process.env.NODE_ENV !== "production") ({ text, explain } = inFull);
} catch {
  // A page without a bundler has no `process`.
}

export { explain, text };
