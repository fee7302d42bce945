/** Reduces error details to data that may be sent: small, plain JSON without secrets. */
import { byteLength } from "./bytes.ts";

const MAX_DETAILS_BYTES = 4096;
const MAX_DEPTH = 8;
const SECRET_KEY = /passw(or)?d|secret|token|authorization|cookie|api_?key|credential|private/i;

/** Returns undefined when there is nothing to send, and `{ truncated: true }` for more than 4 KiB. */
export function sanitizeDetails(details: unknown): Record<string, unknown> | undefined {
  if (typeof details !== "object" || details === null) return undefined;
  const ancestors: unknown[] = [];
  // In characters. Stops the walk early, so that huge details cost no more than small ones.
  let budget = MAX_DETAILS_BYTES;
  try {
    const text = JSON.stringify(details, function (this: Record<string, unknown>, key, converted: unknown) {
      // The result of a toJSON method may contain more than the object's fields, so only that of dates is used.
      const value = this[key] instanceof Date ? converted : this[key];
      if (SECRET_KEY.test(key)) return undefined;
      if (typeof value === "bigint") return String(value);
      budget -= typeof value === "string" ? value.length : 1;
      if (budget < 0) throw new RangeError();
      if (typeof value === "object" && value !== null) {
        ancestors.length = ancestors.indexOf(this) + 1;
        if (ancestors.length >= MAX_DEPTH || ancestors.includes(value)) return undefined;
        ancestors.push(value);
      }
      return value;
    });
    if (byteLength(text) <= MAX_DETAILS_BYTES) return JSON.parse(text);
  } catch {
    // The details are too large, or reading a value threw.
  }
  return { truncated: true };
}
