/** SHA-256 of a text, in hex. */

const encoder = new TextEncoder();

export async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", encoder.encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The same, synchronously where Node's `crypto.hash` exists: it takes a tenth of the time. */
export function sha256Hex(text: string): string | Promise<string> {
  return hash === undefined ? sha256(text) : hash("sha256", text);
}

type Hash = (algorithm: "sha256", text: string) => string;

// Looked up at run time, because this file must load on runtimes without Node's modules.
const hash: Hash | undefined = globalThis.process?.getBuiltinModule?.("node:crypto")?.hash;
