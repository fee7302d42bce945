/** Whom a call is counted for: the user, else the key, else the network address it comes from. */
import type { BetterAuthOptions } from "@better-auth/core";
import { getIP, getIPFromHeader, normalizeIP } from "@better-auth/core/utils/ip";
import type { Caller } from "../caller.ts";
import type { LimitPrincipal } from "./limits.ts";

/** Reads a header by its name in lower case. */
type ReadHeader = (name: string) => string | null | undefined;

const NOBODY: LimitPrincipal = { kind: "nobody" };
const USUAL_HEADERS: readonly string[] = ["x-forwarded-for"];
const NO_HEADERS = new Headers();

/** A caller who is known; undefined for anybody else, whose address counts. */
export function knownPrincipal(caller: Caller | undefined): LimitPrincipal | undefined {
  if (caller?.kind === "user") return { kind: "user", id: caller.user.id };
  return caller?.kind === "key" ? { kind: "key", id: caller.key.id } : undefined;
}

/**
 * The address of a request, one for all its spellings and for a network of IPv6 (/64, or what the host has set): as
 * Better Auth finds it in the headers, else the socket's, where one is known.
 */
export function addressPrincipal(
  header: ReadHeader,
  options: BetterAuthOptions,
  socketAddress?: string,
): LimitPrincipal {
  const { ipAddress = {} } = options.advanced ?? {};
  if (ipAddress.disableIpTracking === true) return NOBODY;
  const { ipAddressHeaders = USUAL_HEADERS, ipv6Subnet, trustedProxies } = ipAddress;
  const settings = { ...(ipv6Subnet && { ipv6Subnet }), ...(trustedProxies && { trustedProxies }) };
  for (const name of ipAddressHeaders) {
    const value = header(name.toLowerCase());
    const found = value ? getIPFromHeader(spelledPlainly(value), settings) : null;
    if (found !== null) return { kind: "address", id: found };
  }
  // What Better Auth takes without a header: the local machine, in development and in tests.
  const usual = getIP(NO_HEADERS, options);
  if (usual !== null) return { kind: "address", id: usual };
  if (socketAddress === undefined || socketAddress === "") return NOBODY;
  const [address = ""] = socketAddress.split("%", 1);
  return { kind: "address", id: normalizeIP(spelledPlainly(address), settings) };
}

/** Better Auth takes some spellings of IPv4 within IPv6, in capitals or with dots, for other addresses. */
function spelledPlainly(value: string): string {
  return value.includes(":") ? value.toLowerCase().split(",").map(plainTail).join(",") : value;
}

const TAIL = /^(.*:)(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/;

/** `::ffff:192.0.2.1` becomes `::ffff:c000:201`. */
function plainTail(address: string): string {
  const [, head = "", ...bytes] = TAIL.exec(address.trim()) ?? [];
  const [a = 0, b = 0, c = 0, d = 0] = bytes.map(Number);
  if (bytes.length === 0 || Math.max(a, b, c, d) > 255) return address;
  return `${head}${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
}
