/** Who may connect, decided from the upgrade request: path, protocol, Origin, then the application's `authenticate`. */
import { CLOSE } from "../protocol/control.ts";
import { negotiate, offeredProtocols, tokenIn } from "../protocol/handshake.ts";
import type { ConnectionData } from "../router/peer.ts";
import type { AuthenticatedData } from "./serve-options.ts";

export type AllowedOrigins = "*" | readonly string[] | ((origin: string, request: Request) => boolean);

export interface AdmissionOptions<Data extends ConnectionData = ConnectionData> {
  /**
   * Builds the connection's data from the upgrade request. `undefined` or a throw refuses; `{}` admits an anonymous
   * caller. Without it everyone is admitted.
   */
  readonly authenticate?: (
    request: Request,
    credentials: { readonly token: string | undefined },
  ) => AuthenticatedData<Data> | undefined | Promise<AuthenticatedData<Data> | undefined>;
  /** The exact pathname on which upgrades are accepted. Default: every path. */
  readonly path?: string;
  /** Origins admitted besides the server's own host. */
  readonly allowedOrigins?: AllowedOrigins;
  /** Subprotocols of the application; the first one a client offers is selected. */
  readonly protocols?: readonly string[];
  /** Where a token is found. Default: the query's `access_token`, and subprotocols beginning with `bearer.`. */
  readonly token?: { readonly queryParam?: string; readonly protocolPrefix?: string };
}

/** The upgrade request, as far as it is looked at; the web `Request` is made only when the application wants it. */
export interface Upgrade {
  readonly url: URL;
  header(name: string): string | null;
  request(): Request;
}

export type Verdict =
  | {
      readonly kind: "admit";
      readonly data: object;
      readonly protocol: string | undefined;
      readonly greets: boolean;
    }
  /** A browser cannot see the status of a failed upgrade, so a client of ours is accepted and closed with a code. */
  | {
      readonly kind: "close";
      readonly code: number;
      readonly reason: string;
      readonly protocol: string | undefined;
    }
  | { readonly kind: "http"; readonly status: number; readonly headers: Readonly<Record<string, string>> };

const DEFAULT_QUERY_PARAM = "access_token";
const DEFAULT_PROTOCOL_PREFIX = "bearer.";
/** For who comes while the server shuts down. */
export const RETRY_AFTER_MS = 1_000;

/** Decides on one upgrade. `onError` gets what the application's functions throw; the peer learns nothing of it. */
export async function judge<Data extends ConnectionData>(
  upgrade: Upgrade,
  options: AdmissionOptions<Data>,
  onError: (error: unknown) => void,
): Promise<Verdict> {
  if (options.path !== undefined && upgrade.url.pathname !== options.path)
    return { kind: "http", status: 404, headers: {} };
  const { protocolPrefix = DEFAULT_PROTOCOL_PREFIX, queryParam = DEFAULT_QUERY_PARAM } = options.token ?? {};
  const offered = offeredProtocols(upgrade.header("sec-websocket-protocol"));
  const { protocol, greets, unknownVersion } = negotiate(offered, options.protocols ?? [], protocolPrefix);
  if (unknownVersion)
    return { kind: "close", code: CLOSE.policy, reason: "no common protocol version", protocol };
  const refuse = (code: number, status: number, reason: string): Verdict =>
    greets ? { kind: "close", code, reason, protocol } : { kind: "http", status, headers: {} };
  if (!isAllowedOrigin(upgrade, options.allowedOrigins, onError))
    return refuse(CLOSE.forbidden, 403, "this origin is not allowed");
  if (options.authenticate === undefined) return { kind: "admit", data: {}, protocol, greets };
  const token = tokenIn(offered, protocolPrefix) ?? upgrade.url.searchParams.get(queryParam) ?? undefined;
  try {
    const data = await options.authenticate(upgrade.request(), { token });
    if (typeof data === "object" && data !== null) return { kind: "admit", data, protocol, greets };
  } catch (error) {
    onError(error);
  }
  return refuse(CLOSE.unauthenticated, 401, "not authenticated");
}

/** The answer to an upgrade that comes too late or is one too many. Without a time to come back, it is plain 503. */
export function overloaded(upgrade: Pick<Upgrade, "header">, retryAfterMs: number | undefined): Verdict {
  const { protocol, greets } = negotiate(
    offeredProtocols(upgrade.header("sec-websocket-protocol")),
    [],
    DEFAULT_PROTOCOL_PREFIX,
  );
  if (retryAfterMs !== undefined && greets)
    return { kind: "close", code: CLOSE.tryLater, reason: `retryAfterMs=${retryAfterMs}`, protocol };
  const seconds = Math.ceil((retryAfterMs ?? RETRY_AFTER_MS) / 1_000);
  return { kind: "http", status: 503, headers: { "retry-after": String(seconds) } };
}

/**
 * Browsers always send Origin. Without one the caller is a program and is admitted, unless it carries cookies:
 * then nothing tells it from a page that hides where it comes from.
 */
function isAllowedOrigin(
  upgrade: Upgrade,
  allowed: AllowedOrigins | undefined,
  onError: (error: unknown) => void,
): boolean {
  if (allowed === "*") return true;
  const origin = upgrade.header("origin");
  if (origin === null) return upgrade.header("cookie") === null;
  if (isSameHost(origin, upgrade.header("host"))) return true;
  if (typeof allowed !== "function") return allowed?.includes(origin) ?? false;
  try {
    return allowed(origin, upgrade.request()) === true;
  } catch (error) {
    onError(error);
    return false;
  }
}

function isSameHost(origin: string, host: string | null): boolean {
  if (host === null || !URL.canParse(origin)) return false;
  const { protocol, host: originHost } = new URL(origin);
  const served = `${protocol}//${host}`;
  return URL.canParse(served) && new URL(served).host === originHost && originHost !== "";
}
