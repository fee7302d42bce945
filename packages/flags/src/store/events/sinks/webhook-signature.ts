/** Signs and verifies webhooks as in Standard Webhooks: HMAC-SHA256 over id, time and body, with WebCrypto. */

const PREFIX = "whsec_";
/** Shorter secrets could be guessed from a signature. */
const MIN_SECRET_BYTES = 24;

const encoder = new TextEncoder();

/** The signed parts of a webhook. */
export interface SignedWebhook {
  readonly id: string;
  /** Seconds since 1970. */
  readonly timestamp: string;
  readonly body: string;
}

export type Bytes = Uint8Array<ArrayBuffer>;

/** `whsec_` and base64, or any other text of at least 24 bytes. */
export function readSecret(secret: string): Bytes {
  const bytes = secret.startsWith(PREFIX) ? fromBase64(secret.slice(PREFIX.length)) : encoder.encode(secret);
  if (bytes !== undefined && bytes.length >= MIN_SECRET_BYTES) return bytes;
  throw new TypeError(
    `The webhook's secret is invalid or too short. Use at least ${MIN_SECRET_BYTES} random bytes, as text or as whsec_ and base64.`,
  );
}

export function importSecret(bytes: Bytes): Promise<CryptoKey> {
  return crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign", "verify"]);
}

export async function signWebhook(key: CryptoKey, webhook: SignedWebhook): Promise<string> {
  const signature = await crypto.subtle.sign("HMAC", key, signedBytes(webhook));
  return `v1,${btoa(String.fromCharCode(...new Uint8Array(signature)))}`;
}

/** Whether the header contains a signature by this key. Compares in constant time. */
export async function hasSignature(key: CryptoKey, webhook: SignedWebhook, header: string): Promise<boolean> {
  const signed = signedBytes(webhook);
  for (const part of header.split(" ").slice(0, 10)) {
    const bytes = part.startsWith("v1,") ? fromBase64(part.slice(3)) : undefined;
    if (bytes !== undefined && (await crypto.subtle.verify("HMAC", key, bytes, signed))) return true;
  }
  return false;
}

function signedBytes({ id, timestamp, body }: SignedWebhook): Bytes {
  return encoder.encode(`${id}.${timestamp}.${body}`);
}

function fromBase64(text: string): Bytes | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}
