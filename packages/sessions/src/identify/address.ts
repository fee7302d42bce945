/** The network address of a caller, as the settings of Better Auth determine it. */

import type { BetterAuthOptions } from "@better-auth/core";
import { getIP, getIPFromHeader, normalizeIP } from "@better-auth/core/utils/ip";
import type { ReadHeader } from "./credentials.ts";

const DEFAULT_HEADERS: readonly string[] = ["x-forwarded-for"];
const NO_HEADERS = new Headers();

/**
 * The normalized address of a request, or its IPv6 network (/64, or the host's `ipv6Subnet`). Taken from the headers that
 * Better Auth trusts, else from the socket if its address is known. Undefined if no address is known.
 */
export function addressOf(
  header: ReadHeader,
  options: BetterAuthOptions,
  socketAddress?: string,
): string | undefined {
  const { ipAddress = {} } = options.advanced ?? {};
  if (ipAddress.disableIpTracking === true) return undefined;
  const { ipAddressHeaders = DEFAULT_HEADERS, ipv6Subnet, trustedProxies } = ipAddress;
  const settings = { ...(ipv6Subnet && { ipv6Subnet }), ...(trustedProxies && { trustedProxies }) };
  for (const name of ipAddressHeaders) {
    const value = header(name.toLowerCase());
    const address = value ? getIPFromHeader(normalizeNotation(value), settings) : null;
    if (address !== null) return address;
  }
  // Better Auth's fallback without a header: the local machine, in development and in tests.
  const fallback = getIP(NO_HEADERS, options);
  if (fallback !== null) return fallback;
  if (socketAddress === undefined || socketAddress === "") return undefined;
  const [address = ""] = socketAddress.split("%", 1);
  return normalizeIP(normalizeNotation(address), settings);
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
