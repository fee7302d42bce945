/** How large a request may be: told by its header before it is read, and measured while it is where there is none. */
import type { FeatureFlagError } from "../model/errors.ts";
import { invalid, jsonBytes, overLimit } from "../model/inputs.ts";
import { type Call, headerReaderOf } from "./call.ts";

const MAX_BODY_BYTES = 64 * 1024;
export const MAX_BATCH_BODY_BYTES: number = 256 * 1024;

/** The requests that bring many at once. */
const BATCHES = ["/feature-flags/evaluate-batch", "/feature-flags/events/batch"];

/** As many bytes as a request to this path may have. */
export function bodyLimitOf(pathname: string): number {
  return BATCHES.some((path) => pathname.endsWith(path)) ? MAX_BATCH_BODY_BYTES : MAX_BODY_BYTES;
}

const ADVICE = "Send less at once.";

/** Up to this size a body that is refused is read and thrown away, so that its connection can be used again. */
const MAX_DISCARDED_BYTES = 1024 * 1024;

/**
 * Keeps a request to the plugin from being buffered beyond its limit: an answer to one that is too large, and in place
 * of one that does not say how large it is, the same request with the bytes that were read of it.
 */
export async function limitRequest(
  request: Request,
): Promise<{ response: Response } | { request: Request } | undefined> {
  const { pathname } = new URL(request.url);
  if (!pathname.includes("/feature-flags/") && !pathname.includes("/ofrep/v1/")) return undefined;
  const limit = bodyLimitOf(pathname);
  const announced = request.headers.get("content-length");
  if (announced !== null) {
    if (Number(announced) <= limit) return undefined;
    const isWorthReading = Number(announced) <= MAX_DISCARDED_BYTES;
    const read = isWorthReading ? await readBody(request.body, 0) : "unread";
    return { response: refusal(tooLarge(limit), read === "unread") };
  }
  if (request.body === null || request.body.locked) return undefined;
  const read = await readBody(request.body, limit);
  if (read === "broken") return { response: answerBrokenOff() };
  if (typeof read === "string") return { response: refusal(tooLarge(limit), read === "unread") };
  return { request: new Request(request, { body: read }) };
}

function refusal({ code, message, status, details }: FeatureFlagError, isUnread: boolean): Response {
  // Whoever is still sending would not hear the end of it.
  const headers = isUnread ? { connection: "close" } : {};
  return Response.json({ code, message, details }, { status, headers });
}

/**
 * The body if it has at most `limit` bytes. Of a larger one nothing is kept: `over` when it was read to its end,
 * `unread` when there was more than is worth reading. `broken`: no end came.
 */
async function readBody(
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
      // Not cancelled: that would cut the connection before the answer is sent.
      if (bytes > MAX_DISCARDED_BYTES) return "unread";
    }
  } catch {
    return "broken";
  }
}

/** Refuses a body that is too large, measured where no header says how large it was. */
export function checkBodySize(call: Call, limit: number = MAX_BODY_BYTES): void {
  const announced = call.request === undefined ? null : headerReaderOf(call).get("content-length");
  const bytes = announced === null ? jsonBytes(call.body) : Number(announced);
  if (!(bytes <= limit)) throw tooLarge(limit);
}

/** What somebody is told whose body ended before it was whole, should they still be there to hear it. */
export function answerBrokenOff(): Response {
  return refusal(brokenOff(), false);
}

function brokenOff(): FeatureFlagError {
  return invalid([{ path: "", message: "The body ended too early; send it again" }]);
}

function tooLarge(limit: number): FeatureFlagError {
  return overLimit("The request is too large, in bytes.", limit, ADVICE);
}
