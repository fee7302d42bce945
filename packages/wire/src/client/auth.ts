/** Sends the token to the server: in the address of a new socket, and over an open connection before the token expires. */
import { SUBPROTOCOL } from "../protocol/control.ts";
import type { WsError } from "../protocol/error.ts";
import { REFRESH_AT, SHORTEST_REFRESH_MS, SHORTEST_REFRESH_RETRY_MS } from "./bounds.ts";
import { type Environment, later } from "./environment.ts";
import { failure } from "./failures.ts";
import type { AuthOptions, ClientOptions } from "./options.ts";
import { text } from "./texts.ts";
import { resolveUrl } from "./url.ts";

/** The characters allowed in a subprotocol (RFC 9110, token). */
const SUBPROTOCOL_TOKEN = /^[\w!#$%&'*+.^`|~-]+$/;

/** The arguments for a new socket. */
export function address(
  { url, protocols = [], auth }: ClientOptions,
  environment: Environment,
  token: string | null,
): [url: string, protocols: string[]] {
  let target = resolveUrl(url, environment);
  const offered = [protocols, SUBPROTOCOL].flat();
  if (auth && token) {
    const { attach, queryParam = "access_token", protocolPrefix = "bearer.", protocolPosition } = auth;
    const bearer = protocolPrefix + token;
    if (attach !== "protocol") {
      // Before the other parameters, because a server reads the first one of a name.
      target = target.replace(/\?|$/, (mark) => `?${queryParam}=${encodeURIComponent(token)}${mark && "&"}`);
    } else if (!SUBPROTOCOL_TOKEN.test(bearer)) throw failure("UNAVAILABLE", text("token"));
    else if (protocolPosition === "prepend") offered.unshift(bearer);
    else offered.push(bearer);
  }
  // A socket throws when a subprotocol is offered twice.
  return [target, [...new Set(offered)]];
}

export async function tokenOf(auth: AuthOptions): Promise<string | null> {
  try {
    return await auth.getToken();
  } catch (cause) {
    throw failure("UNAVAILABLE", text("getToken"), { cause });
  }
}

/** Schedules the refresh of a token that is valid for this much longer, in ms; undefined: it does not expire. */
export type TokenRefresh = (remainingMs?: number) => void;

/** Gets a new token and sends it when `REFRESH_AT` of the current token's lifetime is over. */
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
        // The connection may have been replaced in the meantime.
        if (cancel === cancelThis && token) send(token);
      } catch (error) {
        if (cancel !== cancelThis) return;
        failed(error as WsError);
        const leftMs = remainingMs * (1 - REFRESH_AT);
        if (leftMs > SHORTEST_REFRESH_RETRY_MS) schedule(leftMs);
      }
    };
    const cancelThis = later(environment, refresh, Math.max(SHORTEST_REFRESH_MS, REFRESH_AT * remainingMs));
    cancel = cancelThis;
  };
}
