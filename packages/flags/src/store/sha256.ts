/** SHA-256 of a text, in hex. */

const encoder = new TextEncoder();

export async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", encoder.encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The same at once where there is Node's own way, which takes a tenth of the time. */
export function sha256Hex(text: string): string | Promise<string> {
  return hash === undefined ? sha256(text) : hash("sha256", text);
}

type Hash = (algorithm: "sha256", text: string) => string;

// Asked for by name while running, because nothing of Node's may be imported here.
const hash: Hash | undefined = globalThis.process?.getBuiltinModule?.("node:crypto")?.hash;
