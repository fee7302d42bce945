/** The token's way to the server: into the address of a new socket, and over an open one before it expires. */
import { SUBPROTOCOL } from "../protocol/control.ts";
import type { WsError } from "../protocol/error.ts";
import { REFRESH_AT, SHORTEST_REFRESH_MS, SHORTEST_REFRESH_RETRY_MS } from "./bounds.ts";
import { type Environment, later } from "./environment.ts";
import { failure } from "./failures.ts";
import type { AuthOptions, ClientOptions } from "./options.ts";

/** What a subprotocol may be made of (RFC 9110, token). */
const SUBPROTOCOL_TOKEN = /^[\w!#$%&'*+.^`|~-]+$/;

/** What a new socket is made with. */
export function address(
  { url, protocols = [], auth }: ClientOptions,
  { location }: Environment,
  token: string | null,
): [url: string, protocols: string[]] {
  const target = new URL(url, location?.href);
  target.protocol = target.protocol.replace("http", "ws");
  const offered = [protocols, SUBPROTOCOL].flat();
  if (auth && token) {
    const { attach, queryParam = "access_token", protocolPrefix = "bearer.", protocolPosition } = auth;
    const bearer = protocolPrefix + token;
    if (attach !== "protocol") target.searchParams.set(queryParam, token);
    else if (!SUBPROTOCOL_TOKEN.test(bearer))
      throw failure("UNAVAILABLE", "The token has characters that no subprotocol may have.");
    else if (protocolPosition === "prepend") offered.unshift(bearer);
    else offered.push(bearer);
  }
  // A socket refuses a name that is offered twice.
  return [target.href, [...new Set(offered)]];
}

export async function tokenOf(auth: AuthOptions): Promise<string | null> {
  try {
    return await auth.getToken();
  } catch (cause) {
    throw failure("UNAVAILABLE", "getToken failed.", { cause });
  }
}

/** Tells that the present token holds for this much longer; undefined: for ever. */
export type TokenRefresh = (remainingMs?: number) => void;

/** Asks for a new token and sends it when most of the present one's life is over. */
export function tokenRefresh(
  auth: AuthOptions,
  environment: Environment,
  send: (token: string) => void,
  failed: (error: WsError) => void,
): TokenRefresh {
  let cancel: (() => void) | undefined;
  return function schedule(remainingMs) {
    cancel?.();
    cancel = undefined;
    if (remainingMs === undefined) return;
    const refresh = async (): Promise<void> => {
      try {
        const token = await tokenOf(auth);
        // In the meantime the link may have become another.
        if (cancel === mine && token) send(token);
      } catch (error) {
        if (cancel !== mine) return;
        failed(error as WsError);
        const leftMs = remainingMs * (1 - REFRESH_AT);
        if (leftMs > SHORTEST_REFRESH_RETRY_MS) schedule(leftMs);
      }
    };
    const mine = later(environment, refresh, Math.max(SHORTEST_REFRESH_MS, REFRESH_AT * remainingMs));
    cancel = mine;
  };
}
