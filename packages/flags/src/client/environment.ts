/** Platform functions for the client: development mode, timers, page events and random ids. */

// Bundlers replace exactly this expression. Without a bundler and without `process` it throws.
declare const process: { readonly env: { readonly NODE_ENV?: string } };

/** True if `NODE_ENV` is `development` or `test`. Unset counts as production. */
export function isDevelopment(): boolean {
  try {
    const environment = process.env.NODE_ENV;
    return environment === "development" || environment === "test";
  } catch {
    return false;
  }
}

const MAX_WARNINGS = 100;
const warnings = new Set<string>();

/** Logs each message once on the console, in development only. */
export function warnInDevelopment(message: string): void {
  if (isDevelopment()) warnOnce(message);
}

/** Logs each message once on the console, if `NODE_ENV` is not set. */
export function warnIfUnset(message: string): void {
  try {
    if (process.env.NODE_ENV) return;
  } catch {
    // Without a bundler, a page has no `process`.
  }
  warnOnce(message);
}

function warnOnce(message: string): void {
  if (warnings.has(message) || warnings.size >= MAX_WARNINGS) return;
  warnings.add(message);
  console.warn(`[feature-flags] ${message}`);
}

/** Calls back after the delay. The timer does not keep the process alive. */
export function later(callback: () => void, delayMs: number): void {
  // In browsers it is a number, which has no such method.
  const timer = setTimeout(callback, delayMs) as unknown as { unref?: () => void };
  timer.unref?.();
}

/** Resolves after the delay. The timer does not keep the process alive. */
export function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => later(resolve, delayMs));
}

/** Cloudflare Workers cancel a request's pending work when it ends, so no other request may wait for that work. */
export const areRequestsIsolated: boolean = globalThis.navigator?.userAgent === "Cloudflare-Workers";

/** Calls back whenever the page may be about to unload. Never calls back outside of a page. */
export function onPageHide(callback: () => void): void {
  if (typeof document === "undefined") return;
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "hidden") callback();
  });
  // Not every browser fires `visibilitychange` before it unloads a page.
  addEventListener("pagehide", callback);
}

/** A random UUID. Pages served over plain HTTP have no `crypto.randomUUID`. */
export function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const hex = Array.from(bytes, (byte, at) => {
    const marked = at === 6 ? (byte & 0x0f) | 0x40 : at === 8 ? (byte & 0x3f) | 0x80 : byte;
    return marked.toString(16).padStart(2, "0");
  }).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
