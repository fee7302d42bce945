/** How large a request may be: told by its header before it is parsed, and measured where there is none. */
import { jsonBytes, overLimit } from "../model/inputs.ts";
import { type Call, headersOf } from "./call.ts";

const MAX_BODY_BYTES = 64 * 1024;
export const MAX_BATCH_BODY_BYTES: number = 256 * 1024;

const ADVICE = "Send less at once.";

/** Up to this size a body that is refused is read and thrown away, so that its connection can be used again. */
const MAX_DISCARDED_BYTES = 1024 * 1024;

/** The answer to a request whose header announces too much, given without keeping its body. */
export async function refuseLargeRequest(request: Request): Promise<Response | undefined> {
  const announced = Number(request.headers.get("content-length") ?? 0);
  if (announced <= MAX_BODY_BYTES) return undefined;
  const { pathname } = new URL(request.url);
  if (!pathname.includes("/feature-flags/")) return undefined;
  const limit = pathname.endsWith("/feature-flags/evaluate-batch") ? MAX_BATCH_BODY_BYTES : MAX_BODY_BYTES;
  if (announced <= limit) return undefined;
  const { code, message, status, details } = tooLarge(limit);
  const body = { code, message, details };
  if (announced > MAX_DISCARDED_BYTES)
    return Response.json(body, { status, headers: { connection: "close" } });
  await discard(request.body);
  return Response.json(body, { status });
}

async function discard(body: ReadableStream<Uint8Array> | null): Promise<void> {
  if (body === null) return;
  const reader = body.getReader();
  try {
    while (!(await reader.read()).done);
  } catch {
    // Whoever hangs up meanwhile wants no answer.
  }
}

/** Refuses a body that came without a length, in pieces or from server code, and is too large. */
export function checkBodySize(call: Call, limit: number = MAX_BODY_BYTES): void {
  const announced = call.request === undefined ? null : headersOf(call).get("content-length");
  const bytes = announced === null ? jsonBytes(call.body) : Number(announced);
  if (!(bytes <= limit)) throw tooLarge(limit);
}

function tooLarge(limit: number) {
  return overLimit("The request is too large, in bytes.", limit, ADVICE);
}
