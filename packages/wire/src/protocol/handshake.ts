/** Subprotocol negotiation and the token in it. */
import { SUBPROTOCOL, SUBPROTOCOL_FAMILY } from "./control.ts";

export interface Negotiated {
  /** The protocol to answer with; none for a plain WebSocket peer. */
  readonly protocol: string | undefined;
  /** Whether the peer understands control frames such as hello. */
  readonly greets: boolean;
  /** The peer speaks some version of this protocol, but none that we know. */
  readonly unknownVersion: boolean;
}

/** The names in a `Sec-WebSocket-Protocol` header, in the order of preference. */
export function offeredProtocols(header: string | null | undefined): string[] {
  return (header ?? "")
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
}

/** Chooses the subprotocol: the first of the application's own that the server has, else ours. A token is never chosen. */
export function negotiate(
  offered: readonly string[],
  configured: readonly string[],
  tokenPrefix: string,
): Negotiated {
  const greets = offered.includes(SUBPROTOCOL);
  const own = offered.find((name) => configured.includes(name) && !name.startsWith(tokenPrefix));
  // Chosen although not spoken: a client that offered protocols and gets none back never sees why it was refused.
  const unknown = greets ? undefined : offered.find((name) => name.startsWith(SUBPROTOCOL_FAMILY));
  const protocol = own ?? (greets ? SUBPROTOCOL : unknown);
  return { protocol, greets, unknownVersion: unknown !== undefined };
}

/** The token offered among the subprotocols, without its prefix. */
export function tokenIn(offered: readonly string[], tokenPrefix: string): string | undefined {
  return offered.find((name) => name.startsWith(tokenPrefix))?.slice(tokenPrefix.length);
}
