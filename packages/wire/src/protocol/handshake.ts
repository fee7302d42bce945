/** Subprotocol negotiation, and the token among the offered subprotocols. */
import { SUBPROTOCOL, SUBPROTOCOL_FAMILY } from "./control.ts";

export interface Negotiated {
  /** The subprotocol to select; undefined for a plain WebSocket peer. */
  readonly protocol: string | undefined;
  /** Whether the peer understands control frames such as hello. */
  readonly greets: boolean;
  /** The peer offered only versions of this protocol that are not supported. */
  readonly unknownVersion: boolean;
}

/** The names in a `Sec-WebSocket-Protocol` header, in the order of preference. */
export function offeredProtocols(header: string | null | undefined): string[] {
  return (header ?? "")
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
}

/** Selects the first offered subprotocol of the application, else that of wire. A token is never selected. */
export function negotiate(
  offered: readonly string[],
  configured: readonly string[],
  tokenPrefix: string,
): Negotiated {
  const greets = offered.includes(SUBPROTOCOL);
  const configuredProtocol = offered.find(
    (name) => configured.includes(name) && !name.startsWith(tokenPrefix),
  );
  // Selected although unsupported: without a selected subprotocol, a browser would not see the close code.
  const unknown = greets ? undefined : offered.find((name) => name.startsWith(SUBPROTOCOL_FAMILY));
  const protocol = configuredProtocol ?? (greets ? SUBPROTOCOL : unknown);
  return { protocol, greets, unknownVersion: unknown !== undefined };
}

/** The token offered among the subprotocols, without its prefix. */
export function tokenIn(offered: readonly string[], tokenPrefix: string): string | undefined {
  return offered.find((name) => name.startsWith(tokenPrefix))?.slice(tokenPrefix.length);
}
