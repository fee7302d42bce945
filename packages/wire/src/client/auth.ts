/** The token's way to the server: into the address of a new socket, and over an open one before it expires. */
import { SUBPROTOCOL } from "../protocol/control.ts";
import type { WsError } from "../protocol/error.ts";
import { type Environment, later } from "./environment.ts";
import { failure } from "./failures.ts";
import type { AuthOptions, ClientOptions } from "./options.ts";

/** What a subprotocol may be made of (RFC 9110, token). */
const SUBPROTOCOL_TOKEN = /^[\w!#$%&'*+.^`|~-]+$/;
const REFRESH_AT = 0.8;
/** However soon a token expires: a server cannot make us ask more often. */
const SHORTEST_WAIT_MS = 100;
const SHORTEST_RETRY_MS = 1_000;

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
      throw failure("UNAVAILABLE", "The token has characters that a subprotocol cannot have.");
    else if (protocolPosition === "prepend") offered.unshift(bearer);
    else offered.push(bearer);
  }
  // A socket refuses a name that is offered twice.
  return [target.href, [...new Set(offered)]];
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
        const token = await auth.getToken();
        // In the meantime the link may have become another.
        if (cancel === mine && token) send(token);
      } catch (cause) {
        if (cancel !== mine) return;
        failed(failure("UNAVAILABLE", "getToken failed.", cause));
        const leftMs = remainingMs * (1 - REFRESH_AT);
        if (leftMs > SHORTEST_RETRY_MS) schedule(leftMs);
      }
    };
    const mine = later(
      environment,
      () => void refresh(),
      Math.max(SHORTEST_WAIT_MS, REFRESH_AT * remainingMs),
    );
    cancel = mine;
  };
}
