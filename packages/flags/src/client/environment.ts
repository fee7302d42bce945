/** What the client asks of where it runs: a page, a worker, a server runtime. */

// Bundlers replace exactly this expression; where nobody does and there is no `process`, it throws.
declare const process: { readonly env: { readonly NODE_ENV?: string } };

/** True only where `NODE_ENV` says so: unset counts as production. */
export function isDevelopment(): boolean {
  try {
    const environment = process.env.NODE_ENV;
    return environment === "development" || environment === "test";
  } catch {
    return false;
  }
}

const MAX_SAID = 100;
const said = new Set<string>();

/** Says it once on the console, in development. */
export function warnInDevelopment(message: string): void {
  if (!isDevelopment() || said.has(message) || said.size >= MAX_SAID) return;
  said.add(message);
  console.warn(`[feature-flags] ${message}`);
}

/** Calls back when time has passed, and keeps no process alive until then. */
export function later(callback: () => void, delayMs: number): void {
  const timer: unknown = setTimeout(callback, delayMs);
  if (typeof timer === "object" && timer !== null && "unref" in timer && typeof timer.unref === "function") {
    timer.unref();
  }
}

/** Resolves when time has passed, and keeps no process alive until then. */
export function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => later(resolve, delayMs));
}

/** Cloudflare's Workers end what a request has begun with the request, so that nothing else may wait for it. */
export const areRequestsIsolated: boolean = globalThis.navigator?.userAgent === "Cloudflare-Workers";

/** Calls back whenever the page may be about to go. Never where there is no page. */
export function onPageHide(callback: () => void): void {
  if (typeof document === "undefined") return;
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "hidden") callback();
  });
  // Not every browser tells of a hidden page before it leaves it.
  addEventListener("pagehide", callback);
}

/** A random UUID. `crypto.randomUUID` is missing on pages that came over plain HTTP. */
export function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const hex = Array.from(bytes, (byte, at) => {
    const marked = at === 6 ? (byte & 0x0f) | 0x40 : at === 8 ? (byte & 0x3f) | 0x80 : byte;
    return marked.toString(16).padStart(2, "0");
  }).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
