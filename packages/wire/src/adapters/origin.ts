/** The checks of the `Host` and `Origin` headers of an upgrade request. */
import { isLoopbackName } from "../protocol/checks.ts";
import { isDevelopment } from "../router/options.ts";

/** Allowed Origin headers: `*` for all, a list, or a function. */
export type AllowedOrigins = "*" | readonly string[] | ((origin: string, request: Request) => boolean);

/** The parts of an upgrade request that these checks read. */
export interface OriginRequest {
  /** Whether the connection to this server is encrypted is read from the URL's scheme. */
  readonly url: URL;
  header(name: string): string | null;
  request(): Request;
}

/** Characters that would move the host into another part of a URL, such as credentials or a path. */
const NOT_IN_A_HOST = /[\s/?#@\\]/;
/**
 * A request with one of these passed a proxy, so its caller may be on another machine. `CF-Connecting-IP` does not count:
 * wrangler sets it on requests of this machine.
 */
const FORWARDING_HEADERS: readonly string[] = [
  "forwarded",
  "true-client-ip",
  "via",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-port",
  "x-forwarded-proto",
  "x-forwarded-server",
  "x-forwarded-ssl",
  "x-real-ip",
];

/** A `Host` header as a URL has it: lower case, without the default port. Undefined: it is not a host. */
export function parseHost(host: string | null, scheme = "http:"): { name: string; host: string } | undefined {
  if (host === null || host === "" || NOT_IN_A_HOST.test(host)) return undefined;
  const address = `${scheme}//${host}`;
  if (!URL.canParse(address)) return undefined;
  const url = new URL(address);
  return { name: url.hostname, host: url.host };
}

/** A check of the `Host` header. Throws when an entry is not a host. An entry without a port allows every port. */
export function createHostCheck(
  allowedHosts: readonly string[] | undefined,
): (host: string | null) => boolean {
  if (allowedHosts === undefined) return () => true;
  const names = new Set<string>();
  const hosts = new Set<string>();
  for (const entry of allowedHosts) {
    const parsed = parseHost(entry);
    if (parsed === undefined)
      throw new TypeError(
        `The option allowedHosts contains "${entry}", but an entry must be a host such as "app.example.com" or "localhost:3000".`,
      );
    // The URL drops the port 80, so the entry itself says whether it has a port.
    if (/:\d+$/.test(entry)) hosts.add(parsed.host);
    else names.add(parsed.name);
  }
  return (host) => {
    const parsed = parseHost(host);
    return parsed !== undefined && (names.has(parsed.name) || hosts.has(parsed.host));
  };
}

/**
 * Browsers always send Origin. A caller without one is a program and is admitted, unless it sends cookies: it could then
 * be a page that hides its origin.
 */
export function isAllowedOrigin(
  upgrade: OriginRequest,
  allowed: AllowedOrigins | undefined,
  onError: (error: unknown) => void,
): boolean {
  if (allowed === "*") return true;
  const origin = upgrade.header("origin");
  if (origin === null) return upgrade.header("cookie") === null;
  if (isSameOrigin(origin, upgrade) || isLocalDevelopment(origin, upgrade)) return true;
  if (typeof allowed !== "function") return allowed?.includes(origin) ?? false;
  try {
    return allowed(origin, upgrade.request()) === true;
  } catch (error) {
    onError(error);
    return false;
  }
}

/**
 * Same host and port. An `http:` page may not use an encrypted connection: an attacker in the network could have sent the
 * page. The reverse is allowed, because a proxy may have ended the encryption before this server.
 */
function isSameOrigin(origin: string, { url, header }: OriginRequest): boolean {
  if (!URL.canParse(origin)) return false;
  const { protocol, host } = new URL(origin);
  if (protocol !== "https:" && (protocol !== "http:" || isEncrypted(url, header("x-forwarded-proto"))))
    return false;
  return parseHost(header("host"), protocol)?.host === host;
}

/** The header is only used to refuse more: a page cannot set it, so a proxy did. */
function isEncrypted({ protocol }: URL, forwardedProto: string | null): boolean {
  return protocol === "https:" || protocol === "wss:" || /^\s*(?:https|wss)\b/i.test(forwardedProto ?? "");
}

/** In development, a page of this machine may use a server of this machine on another port. */
function isLocalDevelopment(origin: string, { header }: OriginRequest): boolean {
  if (!isDevelopment() || !URL.canParse(origin)) return false;
  const page = new URL(origin);
  // Only what a browser writes: other spellings, and schemes such as that of a file, have another origin.
  if (page.origin !== origin || !page.protocol.startsWith("http") || !isLoopbackName(page.hostname))
    return false;
  const name = parseHost(header("host"))?.name;
  return (
    name !== undefined && isLoopbackName(name) && FORWARDING_HEADERS.every((each) => header(each) === null)
  );
}
