/** Cloudflare's Workers end what a request has begun with the request, so that nothing else may wait for it. */

/** Whether work cannot be shared between requests. */
export function areRequestsIsolated(): boolean {
  return globalThis.navigator?.userAgent === "Cloudflare-Workers";
}
