/** Whether a request on `node:http` names an address of which a URL can be made. */
import type { IncomingMessage } from "node:http";

/** Hosts that were found valid. A server has few; a client that invents more only costs their check. */
const MAX_HOSTS = 100;

const NAME_AND_PORT = /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/;

/**
 * Better Auth builds the URL of a request from its target, `Host` and `X-Forwarded-Proto`, and throws when they do not
 * make one. Neither path may depend on parts that only look like an address.
 */
export function createAddressCheck(): (request: IncomingMessage) => boolean {
  const valid = new Set<string>();
  return ({ url = "", headers }) => {
    if (!url.startsWith("/")) return false;
    const protocol = headers["x-forwarded-proto"] ?? "";
    if (protocol !== "" && protocol !== "http" && protocol !== "https") return false;
    // HTTP/2 has the pseudo-header. HTTP/1.0 needs neither.
    const host = headers[":authority"] ?? headers.host;
    if (typeof host !== "string") return host === undefined;
    if (valid.has(host)) return true;
    if (!NAME_AND_PORT.test(host) || !URL.canParse(`http://${host}`)) return false;
    if (valid.size >= MAX_HOSTS) valid.clear();
    valid.add(host);
    return true;
  };
}
