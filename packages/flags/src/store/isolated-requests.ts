/** Detects Cloudflare Workers, which stop all work of a request when the request ends. */

/** Whether a request must not wait for work that another request has started. */
export function areRequestsIsolated(): boolean {
  return globalThis.navigator?.userAgent === "Cloudflare-Workers";
}
