/** Limits the size of request bodies: by `content-length` before reading, else while reading. */
import type { FeatureFlagError } from "../../model/errors.ts";
import { invalid, jsonBytes, overLimit } from "../../model/inputs.ts";
import type { Call } from "../call.ts";

export const MAX_BODY_BYTES: number = 64 * 1024;
export const MAX_BATCH_BODY_BYTES: number = 256 * 1024;

/** A refused body up to this size is read and discarded, so that its connection can be reused. */
const MAX_DISCARDED_BYTES = 1024 * 1024;

/**
 * Keeps Better Auth from buffering a request to the plugin beyond its limit. A request that is too large is answered
 * here. A request without `content-length` is replaced by one with the bytes that were read. `limitOf` gives the limit
 * of an operation's path.
 */
export async function limitRequest(
  request: Request,
  limitOf: (pathname: string) => number,
): Promise<{ response: Response } | { request: Request } | undefined> {
  const { pathname } = new URL(request.url);
  if (!pathname.includes("/feature-flags/") && !pathname.includes("/ofrep/v1/")) return undefined;
  const limit = limitOf(pathname);
  const announced = request.headers.get("content-length");
  if (announced !== null) {
    if (Number(announced) <= limit) return undefined;
    const isWorthReading = Number(announced) <= MAX_DISCARDED_BYTES;
    const read = isWorthReading ? await readStream(request.body, 0) : "unread";
    return { response: refusal(tooLarge(limit), read === "unread") };
  }
  if (request.body === null || request.body.locked) return undefined;
  const read = await readStream(request.body, limit);
  if (read === "broken") return { response: answerBrokenOff() };
  if (typeof read === "string") return { response: refusal(tooLarge(limit), read === "unread") };
  return { request: withBody(request, read) };
}

/** Next.js passes a proxy of a `Request`, from which no other can be constructed; its parts can be read. */
function withBody(request: Request, body: Uint8Array<ArrayBuffer>): Request {
  try {
    return new Request(request, { body });
  } catch {
    const { url, method, headers, signal } = request;
    return new Request(url, { method, headers, signal, body });
  }
}

function refusal({ code, message, status, details }: FeatureFlagError, isUnread: boolean): Response {
  // A client that is still sending would not read the response otherwise.
  const headers = isUnread ? { connection: "close" } : {};
  return Response.json({ code, message, details }, { status, headers });
}

/**
 * The body if it has at most `limit` bytes. A larger body is discarded: `over` when it was read to its end, `unread`
 * when it exceeds `MAX_DISCARDED_BYTES`. `broken`: the body ended early.
 */
async function readStream(
  body: ReadableStream<Uint8Array> | null,
  limit: number,
): Promise<Uint8Array<ArrayBuffer> | "over" | "unread" | "broken"> {
  const kept = new Uint8Array(limit);
  let bytes = 0;
  try {
    const reader = body?.getReader();
    for (;;) {
      const { done = true, value } = (await reader?.read()) ?? {};
      if (done || value === undefined) return bytes > limit ? "over" : kept.subarray(0, bytes);
      if (bytes + value.length <= limit) kept.set(value, bytes);
      bytes += value.length;
      // Cancelling the stream would close the connection before the response is sent.
      if (bytes > MAX_DISCARDED_BYTES) return "unread";
    }
  } catch {
    return "broken";
  }
}

/** The request's body. Throws when it is too large for the operation. */
export function readBody({ request, headers, operation: { maxBodyBytes = MAX_BODY_BYTES } }: Call): unknown {
  const announced = request.request === undefined ? null : headers.get("content-length");
  const bytes = announced === null ? jsonBytes(request.body) : Number(announced);
  if (!(bytes <= maxBodyBytes)) throw tooLarge(maxBodyBytes);
  return request.body;
}

/** The response to a body that ended early, in case the client still reads. */
export function answerBrokenOff(): Response {
  return refusal(brokenOff(), false);
}

function brokenOff(): FeatureFlagError {
  return invalid([{ path: "", message: "The body ended too early; send it again" }]);
}

function tooLarge(limit: number): FeatureFlagError {
  return overLimit("The request body has too many bytes.", limit, "Send less at once.");
}
