/**
 * Signed texts that a client holds and returns: base64url of fields as JSON, a dot, and 128 bits of an HMAC-SHA256. Each
 * purpose has a key of its own, derived from the application's secrets.
 */
import { createSigner, type Signer } from "./hmac.ts";

export interface Seal<Fields> {
  sign(fields: Fields): string;
  /** The fields as JSON gives them. Undefined if this server did not sign the text for this purpose. */
  open(text: unknown): unknown;
}

/** Longer than any text: an id has at most 255 characters, each at most six in JSON. */
const MAX_LENGTH = 8192;
/** 128 bits in base64url. */
const SIGNATURE_LENGTH = 22;

/** Signs with the first secret, and accepts all of them. */
export function createSeal<Fields>(secrets: readonly string[], purpose: string): Seal<Fields> {
  const signers = secrets.map((secret) => createSigner(createSigner(utf8(secret))(purpose)));
  const [current] = signers;
  if (current === undefined) throw new Error("Signed texts need a secret.");
  return {
    sign(fields) {
      const text = toBase64(asciiOf(fields));
      return `${text}.${signatureOf(current, text)}`;
    },
    open(text) {
      if (typeof text !== "string" || text.length > MAX_LENGTH) return undefined;
      const dot = text.length - SIGNATURE_LENGTH - 1;
      if (dot < 1 || text[dot] !== "." || !/^[\w-]+$/.test(text.slice(0, dot))) return undefined;
      const fields = text.slice(0, dot);
      const signature = text.slice(dot + 1);
      if (!signers.some((signer) => isSame(signatureOf(signer, fields), signature))) return undefined;
      return JSON.parse(fromBase64(fields));
    },
  };
}

function signatureOf(signer: Signer, fields: string): string {
  return toBase64(String.fromCharCode(...signer(fields).subarray(0, 16)));
}

/** Takes the same time wherever the texts differ. */
function isSame(one: string, other: string): boolean {
  if (one.length !== other.length) return false;
  let difference = 0;
  for (let at = 0; at < one.length; at++) difference |= one.charCodeAt(at) ^ other.charCodeAt(at);
  return difference === 0;
}

/** JSON with only ASCII characters. */
function asciiOf(fields: unknown): string {
  return JSON.stringify(fields).replace(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function toBase64(bytes: string): string {
  return btoa(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function fromBase64(text: string): string {
  return atob(text.replaceAll("-", "+").replaceAll("_", "/"));
}

function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
