/**
 * SHA-256 of a text, in hex. At once where Node's `crypto.hash` exists: a transaction that waits for another thread lets
 * other connections of the process run into its locks, and SQLite's driver then blocks both.
 */
export function sha256(text: string): string | Promise<string> {
  return hash === undefined ? digest(text) : hash("sha256", text);
}

type Hash = (algorithm: "sha256", text: string) => string;

// Looked up at run time, because this file must load on runtimes without Node's modules.
const hash: Hash | undefined = globalThis.process?.getBuiltinModule?.("node:crypto")?.hash;
const encoder = new TextEncoder();

async function digest(text: string): Promise<string> {
  const bytes = await crypto.subtle.digest("SHA-256", encoder.encode(text));
  return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
