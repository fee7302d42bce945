/** One request to the console's API: its own header, JSON both ways, and every failure as an `ApiError`. */
import { basePath } from "../config.ts";
import { texts } from "../texts.ts";
import type { AnswerOf, KnownPath } from "./answers.ts";

/** Ends a request that the server does not answer. */
const TIMEOUT_MS = 20_000;

export interface RequestOptions {
  readonly query?: object;
  readonly body?: object;
  /** The version that was read. The server refuses the change with 409 when the stored version differs. */
  readonly version?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

export class ApiError extends Error {
  override readonly name = "ApiError";
  /** 0 when there was no response. */
  readonly status: number;
  readonly code: string | undefined;
  readonly details: unknown;

  constructor(status: number, message: string, code?: string, details?: unknown) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = details;
  }
}

export function isStatus(error: unknown, status: number): error is ApiError {
  return error instanceof ApiError && error.status === status;
}

export async function request<
  Method extends "GET" | "POST" | "PATCH" | "DELETE",
  Path extends KnownPath<Method>,
>(
  method: Method,
  path: Path,
  { query, body, version, signal }: RequestOptions = {},
): Promise<AnswerOf<Method, Path>> {
  const { response, text } = await send(`${basePath}/api${path}${searchOf(query)}`, {
    method,
    credentials: "same-origin",
    headers: {
      accept: "application/json",
      "x-halyard-console": "1",
      ...(body !== undefined && { "content-type": "application/json" }),
      ...(version !== undefined && { "if-match": `"${version}"` }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: signal
      ? AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)])
      : AbortSignal.timeout(TIMEOUT_MS),
  });
  const answer: unknown = text === "" ? null : parse(text);
  if (!response.ok) throw errorOf(response, answer);
  // Such as the sign-in page of a proxy.
  if (answer === undefined) throw new ApiError(response.status, texts.errors.notJson);
  return answer as AnswerOf<Method, Path>;
}

/** The connection may be lost between the headers and the end of the body. */
async function send(url: string, init: RequestInit): Promise<{ response: Response; text: string }> {
  try {
    const response = await fetch(url, init);
    return { response, text: await response.text() };
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === "AbortError") throw cause;
    const isTimeout = cause instanceof DOMException && cause.name === "TimeoutError";
    throw new ApiError(0, isTimeout ? texts.errors.timeout : texts.errors.offline);
  }
}

function errorOf(response: Response, answer: unknown): ApiError {
  const { code, message, details } = (answer ?? {}) as {
    code?: unknown;
    message?: unknown;
    details?: unknown;
  };
  const fallback = texts.errors.status(response.status);
  return new ApiError(
    response.status,
    typeof message === "string" && message !== "" ? message : fallback,
    typeof code === "string" ? code : undefined,
    details,
  );
}

/** Undefined for a text that is not JSON. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function searchOf(query: object = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) search.set(name, String(value));
  }
  const text = search.toString();
  return text === "" ? "" : `?${text}`;
}
