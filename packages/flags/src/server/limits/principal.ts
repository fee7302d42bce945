/** Determines the principal a request counts for: the user, else the API key, else the network address. */

import type { BetterAuthOptions } from "@better-auth/core";
import { getIP, getIPFromHeader, normalizeIP } from "@better-auth/core/utils/ip";
import type { Caller } from "@halyard/sessions/plugin";
import type { LimitPrincipal } from "./limits.ts";

/** Reads a header by its name in lower case. */
type ReadHeader = (name: string) => string | null | undefined;

const NOBODY: LimitPrincipal = { kind: "nobody" };
const DEFAULT_HEADERS: readonly string[] = ["x-forwarded-for"];
const NO_HEADERS = new Headers();

/** The principal of a user or an API key; undefined for other callers, who count by address. */
export function knownPrincipal(caller: Caller | undefined): LimitPrincipal | undefined {
  if (caller?.kind === "user") return { kind: "user", id: caller.user.id };
  return caller?.kind === "key" ? { kind: "key", id: caller.key.id } : undefined;
}

/**
 * The normalized address of a request, or its IPv6 network (/64, or the host's `ipv6Subnet`). Taken from the headers that
 * Better Auth trusts, else from the socket if its address is known.
 */
export function addressPrincipal(
  header: ReadHeader,
  options: BetterAuthOptions,
  socketAddress?: string,
): LimitPrincipal {
  const { ipAddress = {} } = options.advanced ?? {};
  if (ipAddress.disableIpTracking === true) return NOBODY;
  const { ipAddressHeaders = DEFAULT_HEADERS, ipv6Subnet, trustedProxies } = ipAddress;
  const settings = { ...(ipv6Subnet && { ipv6Subnet }), ...(trustedProxies && { trustedProxies }) };
  for (const name of ipAddressHeaders) {
    const value = header(name.toLowerCase());
    const address = value ? getIPFromHeader(normalizeNotation(value), settings) : null;
    if (address !== null) return { kind: "address", id: address };
  }
  // Better Auth's fallback without a header: the local machine, in development and in tests.
  const fallback = getIP(NO_HEADERS, options);
  if (fallback !== null) return { kind: "address", id: fallback };
  if (socketAddress === undefined || socketAddress === "") return NOBODY;
  const [address = ""] = socketAddress.split("%", 1);
  return { kind: "address", id: normalizeIP(normalizeNotation(address), settings) };
}

/** Better Auth treats some notations of IPv4-mapped IPv6 (upper case, dotted) as different addresses. */
function normalizeNotation(value: string): string {
  return value.includes(":") ? value.toLowerCase().split(",").map(hexTail).join(",") : value;
}

const TAIL = /^(.*:)(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/;

/** `::ffff:192.0.2.1` becomes `::ffff:c000:201`. */
function hexTail(address: string): string {
  const [, head = "", ...bytes] = TAIL.exec(address.trim()) ?? [];
  const [a = 0, b = 0, c = 0, d = 0] = bytes.map(Number);
  if (bytes.length === 0 || Math.max(a, b, c, d) > 255) return address;
  return `${head}${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
}
