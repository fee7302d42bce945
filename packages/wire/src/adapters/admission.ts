/** Decides on an upgrade request: path, Host, protocol, Origin, then the application's `authenticate`. */
import { CLOSE, SUBPROTOCOL } from "../protocol/control.ts";
import { WsError } from "../protocol/error.ts";
import { negotiate, offeredProtocols, tokenIn } from "../protocol/handshake.ts";
import { shortReason } from "../router/connections/close-code.ts";
import type { ConnectionData } from "../router/connections/peer.ts";
import { type AllowedOrigins, createHostCheck, isAllowedOrigin, parseHost } from "./origin.ts";
import { describeError, quoted, type RefusalReason } from "./refusal-log.ts";

export type { AllowedOrigins };

/** The data that `authenticate` returns: all fields but the id, which the server chooses. */
export type AuthenticatedData<Data extends ConnectionData> = Omit<Data, "clientId" | "expiresAt"> & {
  /** When the authentication expires, in ms since epoch; the connection is then closed with 4401. */
  readonly expiresAt?: number;
};

/** What `authenticate` may return. */
export type Authentication<Data extends ConnectionData> =
  | AuthenticatedData<Data>
  | undefined
  | Promise<AuthenticatedData<Data> | undefined>;

/** Who may connect, and with which data. */
export interface AdmissionOptions<Data extends ConnectionData = ConnectionData> {
  /**
   * Returns the connection's data for an upgrade request. `undefined` or a throw refuses the caller; `{}` admits an
   * anonymous one. The message of a thrown `WsError` with the code `UNAUTHENTICATED` or `PERMISSION_DENIED` is sent to the
   * client as the close reason; after `UNAVAILABLE` the client tries again. `address` is that of the socket, such as a
   * proxy's; undefined where the platform does not tell. Default: every caller is admitted.
   */
  readonly authenticate?: (
    request: Request,
    credentials: { readonly token: string | undefined; readonly address: string | undefined },
  ) => Authentication<Data>;
  /** Data of every connection, below the fields that `authenticate` returns. Default: none. */
  readonly data?: AuthenticatedData<Data>;
  /** The exact pathname on which upgrades are accepted. Default: every path. */
  readonly path?: string;
  /**
   * Allowed origins in addition to the server's own host. Default: none. In development, a page of `localhost`,
   * `127.0.0.1` or `[::1]` may always connect to a server with such a host, on any port.
   */
  readonly allowedOrigins?: AllowedOrigins;
  /**
   * Allowed `Host` headers, such as `app.example.com` (with any port) or `localhost:3000`. Protects a server without
   * `authenticate` in a private network from DNS rebinding. Default: every host.
   */
  readonly allowedHosts?: readonly string[];
  /** Subprotocols of the application; the first one that a client offers is selected. Default: none. */
  readonly protocols?: readonly string[];
  /** Where the token is. Default: the query parameter `access_token`, and subprotocols beginning with `bearer.`. */
  readonly token?: { readonly queryParam?: string; readonly protocolPrefix?: string };
}

/** The parts of an upgrade request that are read here. The web `Request` is created only for the application. */
export interface Upgrade {
  readonly url: URL;
  /** The address at the other end of the socket. */
  readonly address: string | undefined;
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
  /** Accepts and closes with a code, because a browser cannot read the status of a failed upgrade. */
  | {
      readonly kind: "close";
      readonly code: number;
      readonly reason: string;
      readonly protocol: string | undefined;
    }
  | { readonly kind: "http"; readonly status: number; readonly headers: Readonly<Record<string, string>> };

/** Where the decisions of an admission are reported. */
export interface AdmissionReports {
  /** Receives errors of the application's functions; they are not sent to the peer. */
  error(error: unknown): void;
  /** Receives each refusal, with a text for the log of the server. */
  refused(reason: RefusalReason, text: string): void;
}

const DEFAULT_QUERY_PARAM = "access_token";
const DEFAULT_PROTOCOL_PREFIX = "bearer.";
const BAD_REQUEST: Verdict = { kind: "http", status: 400, headers: {} };
const NOT_AUTHENTICATED = "not authenticated";
/** The retry delay for upgrades during a shutdown. */
export const RETRY_AFTER_MS = 1_000;

export class Admission<Data extends ConnectionData> {
  readonly #options: AdmissionOptions<Data>;
  readonly #reports: AdmissionReports;
  readonly #isAllowedHost: (host: string | null) => boolean;

  /** Throws when an option is invalid. */
  constructor(options: AdmissionOptions<Data>, reports: AdmissionReports) {
    this.#options = options;
    this.#reports = reports;
    this.#isAllowedHost = createHostCheck(options.allowedHosts);
  }

  /** The refusal of an upgrade for another path. */
  refusePath({ url: { pathname } }: Upgrade): Verdict | undefined {
    const { path } = this.#options;
    if (path === undefined || pathname === path) return undefined;
    this.#reports.refused(
      "path",
      `An upgrade was refused (404): its path is ${quoted(publicPart(pathname, path))}, but the option path of this server is ${quoted(path)}. Connect the client to that path, or change the option.`,
    );
    return { kind: "http", status: 404, headers: {} };
  }

  /** Decides on one upgrade for the path of the server. */
  async judge(upgrade: Upgrade): Promise<Verdict> {
    const { token: tokenOptions, protocols = [], allowedOrigins } = this.#options;
    const host = upgrade.header("host");
    if (host !== null && parseHost(host) === undefined) return BAD_REQUEST;
    const prefix = tokenOptions?.protocolPrefix ?? DEFAULT_PROTOCOL_PREFIX;
    const offered = offeredProtocols(upgrade.header("sec-websocket-protocol"));
    const { protocol, greets, unknownVersion } = negotiate(offered, protocols, prefix);
    if (unknownVersion)
      return { kind: "close", code: CLOSE.policy, reason: "no common protocol version", protocol };
    if (!this.#isAllowedHost(host)) return this.#refuseHost(host, greets);
    if (!isAllowedOrigin(upgrade, allowedOrigins, (error) => this.#reports.error(error)))
      return this.#refuseOrigin(upgrade.header("origin"), host, greets);
    const { authenticate, data } = this.#options;
    if (authenticate === undefined) return { kind: "admit", data: data ?? {}, protocol, greets };
    const request = requestOf(upgrade);
    if (request === undefined) return BAD_REQUEST;
    const token = this.#tokenOf(upgrade, offered, prefix);
    try {
      const authenticated: unknown = await authenticate(request, { token, address: upgrade.address });
      if (typeof authenticated === "object" && authenticated !== null)
        return {
          kind: "admit",
          data: data ? { ...data, ...authenticated } : authenticated,
          protocol,
          greets,
        };
      return this.#refuseLogin(authenticated, token !== undefined, greets);
    } catch (error) {
      if (WsError.isWsError(error) && error.code === "UNAVAILABLE") return this.#refuseForNow(error, upgrade);
      return this.#refuseThrown(error, greets);
    }
  }

  #tokenOf({ url }: Upgrade, offered: readonly string[], prefix: string): string | undefined {
    const parameter = this.#options.token?.queryParam ?? DEFAULT_QUERY_PARAM;
    return tokenIn(offered, prefix) ?? url.searchParams.get(parameter) ?? undefined;
  }

  #refuseHost(host: string | null, greets: boolean): Verdict {
    this.#reports.refused(
      "host",
      `An upgrade was refused (4403): its Host header is ${quoted(host ?? "")}. If this is a name of your server, add it to the serve option allowedHosts.`,
    );
    return refuse(greets, CLOSE.forbidden, 403, "this host is not allowed");
  }

  #refuseOrigin(origin: string | null, host: string | null, greets: boolean): Verdict {
    if (origin === null)
      this.#reports.refused(
        "cookies",
        "An upgrade was refused (4403): it has cookies but no Origin header. Let programs send a token instead of cookies.",
      );
    else
      this.#reports.refused(
        "origin",
        `An upgrade was refused (4403): its origin ${quoted(origin)} is not allowed for the host ${quoted(host ?? "")}. If it is the origin of your page, add it to the serve option allowedOrigins.`,
      );
    return refuse(greets, CLOSE.forbidden, 403, "this origin is not allowed");
  }

  #refuseLogin(returned: unknown, hasToken: boolean, greets: boolean): Verdict {
    const hint = hasToken
      ? "The request had a token."
      : "The request had no token: set the client option auth, or the serve option token if its place differs.";
    this.#reports.refused(
      "login",
      returned === undefined
        ? `A login was refused (4401): authenticate returned undefined. ${hint}`
        : `A login was refused (4401): authenticate returned ${returned === null ? "null" : `a ${typeof returned}`}. Return an object with the connection's data to admit the caller.`,
    );
    return refuse(greets, CLOSE.unauthenticated, 401, NOT_AUTHENTICATED);
  }

  /** A caller that could not be checked is not signed out: the client tries again. */
  #refuseForNow(error: WsError, upgrade: Upgrade): Verdict {
    this.#reports.error(error);
    this.#reports.refused(
      "unavailable",
      `A login was refused (1013): authenticate threw ${describeError(error)}. The client tries again, and the serve option onError receives the whole error.`,
    );
    return unavailable(upgrade, "the authentication is not available", error.retryAfterMs ?? RETRY_AFTER_MS);
  }

  /** A `WsError` with one of two codes is a refusal with a reason for the client; any other error stays on the server. */
  #refuseThrown(error: unknown, greets: boolean): Verdict {
    this.#reports.error(error);
    const code = WsError.isWsError(error) ? error.code : undefined;
    const isForbidden = code === "PERMISSION_DENIED";
    this.#reports.refused(
      "thrown",
      `A login was refused (${isForbidden ? 4403 : 4401}): authenticate threw ${describeError(error)}. The serve option onError receives the whole error.`,
    );
    if (WsError.isWsError(error) && isForbidden)
      return refuse(greets, CLOSE.forbidden, 403, shortReason(error.message));
    const reason =
      WsError.isWsError(error) && code === "UNAUTHENTICATED" ? shortReason(error.message) : NOT_AUTHENTICATED;
    return refuse(greets, CLOSE.unauthenticated, 401, reason);
  }
}

/** The first segment and those of the server's own path: other segments may contain a token, as the query may. */
function publicPart(pathname: string, path: string): string {
  const own = path.split("/");
  const segments = pathname.split("/");
  const end = segments.findIndex((each, at) => at > 1 && each !== "" && each !== own[at]);
  return end < 0 ? pathname : `${segments.slice(0, end).join("/")}/…`;
}

/** Selects the protocol of wire, also when the client offers one of the application: only then it waits for hello. */
function refuse(greets: boolean, code: number, status: number, reason: string): Verdict {
  return greets
    ? { kind: "close", code, reason, protocol: SUBPROTOCOL }
    : { kind: "http", status, headers: {} };
}

/** The web request; undefined when the headers do not make a valid one. The error would contain the URL with its token. */
function requestOf(upgrade: Upgrade): Request | undefined {
  try {
    return upgrade.request();
  } catch {
    return undefined;
  }
}

/** The verdict for an upgrade during a shutdown or above a limit. Without `retryAfterMs` it is HTTP 503. */
export function overloaded(upgrade: Pick<Upgrade, "header">, retryAfterMs: number | undefined): Verdict {
  const reason = retryAfterMs === undefined ? undefined : `retryAfterMs=${retryAfterMs}`;
  return unavailable(upgrade, reason, retryAfterMs ?? RETRY_AFTER_MS);
}

/** The verdict for an upgrade whose `authenticate` took too long. The client retries with its own delay. */
export function timedOut(upgrade: Pick<Upgrade, "header">): Verdict {
  return unavailable(upgrade, "the authentication timed out", RETRY_AFTER_MS);
}

function unavailable(
  upgrade: Pick<Upgrade, "header">,
  reason: string | undefined,
  retryAfterMs: number,
): Verdict {
  const { greets } = negotiate(
    offeredProtocols(upgrade.header("sec-websocket-protocol")),
    [],
    DEFAULT_PROTOCOL_PREFIX,
  );
  if (reason !== undefined && greets)
    return { kind: "close", code: CLOSE.tryLater, reason, protocol: SUBPROTOCOL };
  const seconds = Math.ceil(retryAfterMs / 1_000);
  return { kind: "http", status: 503, headers: { "retry-after": String(seconds) } };
}
