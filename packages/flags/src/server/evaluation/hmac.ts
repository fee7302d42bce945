/** HMAC-SHA256, synchronously on every runtime: WebCrypto is asynchronous, and a bootstrap signs a token for each flag. */
import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";

/** Signs texts with one key. */
export type Signer = (text: string) => Uint8Array;

const encoder = new TextEncoder();

export function createSigner(key: Uint8Array): Signer {
  // The key's two blocks are hashed once.
  const keyed = hmac.create(sha256, key);
  return (text) => keyed.clone().update(encoder.encode(text)).digest();
}
