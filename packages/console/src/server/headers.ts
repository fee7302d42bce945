/** The headers of the console's responses: what the page may load, and that no other page may show it. */

/** Styles that libraries inject carry the nonce. Scripts are files only. */
function policyOf(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "manifest-src 'self'",
    "base-uri 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join("; ");
}

const EVERYWHERE: Readonly<Record<string, string>> = {
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
};

const NOTHING = "default-src 'none'; frame-ancestors 'none'";

/** The response with the headers that every response has. A policy that it has already stays. */
export function secured(response: Response): Response {
  const headers = new Headers(response.headers);
  for (const [name, value] of Object.entries(EVERYWHERE)) headers.set(name, value);
  if (!headers.has("content-security-policy")) headers.set("content-security-policy", NOTHING);
  if (!headers.has("cache-control")) headers.set("cache-control", "no-store");
  const { status, statusText } = response;
  return new Response(response.body, { status, statusText, headers });
}

/** A page whose policy has a nonce of its own. */
export function pageOf(html: (nonce: string) => string, isHead: boolean): Response {
  const nonce = createNonce();
  return new Response(isHead ? null : html(nonce), {
    headers: {
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-store",
      "content-security-policy": policyOf(nonce),
      "permissions-policy": "camera=(), geolocation=(), microphone=()",
    },
  });
}

function createNonce(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return btoa(String.fromCharCode(...bytes));
}
