/** Bytes in a message: a `Uint8Array` at both ends, base64 in JSON. */
import type { StandardSchema } from "./standard-schema.ts";

/** Options of `bytes()`. */
export interface BytesOptions {
  /** The largest number of bytes. Default: only the limit of the frame. */
  readonly maxBytes?: number;
}

/** Base64 with padding, in groups of four characters. */
const BASE64 = /^(?:[\w+/]{4})*(?:[\w+/]{2}==|[\w+/]{3}=)?$/;
/** `\w` has a character that base64 has not. */
const UNDERSCORE = "_";
/** `String.fromCharCode` takes a limited number of arguments. */
const CHUNK = 8_192;

export const NOT_BYTES = "Expected a Uint8Array, or base64 text in a frame";

/** Whether the value is a `Uint8Array` of a sender, or base64 of a frame, and within the limit. */
export function isBytes(value: unknown, { maxBytes = Number.POSITIVE_INFINITY }: BytesOptions = {}): boolean {
  if (value instanceof Uint8Array) return value.length <= maxBytes && markAsBase64(value);
  if (typeof value !== "string" || value.length % 4 !== 0) return false;
  if (!BASE64.test(value) || value.includes(UNDERSCORE)) return false;
  const padding = value.endsWith("==") ? 2 : value.endsWith("=") ? 1 : 0;
  return (value.length / 4) * 3 - padding <= maxBytes;
}

/** Bytes in JSON Schema, draft 7. */
export function describeBytes({ maxBytes }: BytesOptions = {}): Record<string, unknown> {
  const limit = maxBytes === undefined ? {} : { maxLength: 4 * Math.ceil(maxBytes / 3) };
  return { type: "string", contentEncoding: "base64", ...limit };
}

/** The bytes of a value that `isBytes` accepted. */
export function toBytes(value: unknown): Uint8Array {
  return typeof value === "string" ? decodeBase64(value) : (value as Uint8Array);
}

/**
 * Gives this array a `toJSON` that returns base64. Frames carry payloads as the sender passes them, and each of them is
 * checked before it is encoded, so that no encoder has to search payloads for bytes. The property is not enumerable.
 */
function markAsBase64(bytes: Uint8Array): boolean {
  if (Object.hasOwn(bytes, "toJSON")) return true;
  return Reflect.defineProperty(bytes, "toJSON", { value: encodeThis, configurable: true });
}

function encodeThis(this: Uint8Array): string {
  return encodeBase64(this);
}

/** Newer engines have these methods, which are much faster. */
interface Base64Methods {
  readonly toBase64?: () => string;
}
interface Base64Statics {
  readonly fromBase64?: (text: string) => Uint8Array;
}

function encodeBase64(bytes: Uint8Array): string {
  const { toBase64 } = bytes as Base64Methods;
  if (toBase64 !== undefined) return toBase64.call(bytes);
  let text = "";
  for (let at = 0; at < bytes.length; at += CHUNK)
    text += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
  return btoa(text);
}

function decodeBase64(text: string): Uint8Array {
  const { fromBase64 } = Uint8Array as Base64Statics;
  if (fromBase64 !== undefined) return fromBase64.call(Uint8Array, text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
  return bytes;
}

/**
 * Declares a payload of bytes: a `Uint8Array` in handlers, base64 in JSON. With Zod or Valibot, use `bytes()` of that
 * entry point for a field.
 *
 * @example
 * ```ts
 * import { bytes, message } from "@halyard/wire";
 *
 * const Chunk = message("CHUNK", bytes({ maxBytes: 65_536 }));
 * ```
 */
export function bytes(options?: BytesOptions): StandardSchema<Uint8Array> {
  return {
    "~standard": {
      version: 1,
      vendor: "halyard",
      validate: (value) =>
        isBytes(value, options) ? { value: toBytes(value) } : { issues: [{ message: NOT_BYTES }] },
      jsonSchema: { input: () => describeBytes(options) },
    },
  };
}
