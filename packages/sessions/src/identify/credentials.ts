/** The request's credentials as one cache key: the same key is the same caller. */
import { KEY_HEADER } from "./keys.ts";
import type { HostContext } from "./request.ts";

/** Takes a header name in lower case. */
export type ReadHeader = (name: string) => string | null | undefined;

/** The cookies and headers in which the host's Better Auth expects credentials. */
export interface CredentialNames {
  readonly sessionToken: string;
  readonly sessionData: string;
  readonly dontRemember: string;
  /** Whether a cookie may carry a copy of the session. */
  readonly hasCookieCache: boolean;
  /** Whether a plugin reads the `authorization` header. */
  readonly readsAuthorization: boolean;
  /** Headers that may hold an API key. */
  readonly keyHeaders: readonly string[];
}

/** Bounds the memory that one entry takes. Credentials that are longer are verified by Better Auth every time. */
const MAX_CACHE_KEY_LENGTH = 4096;

/** `none`: an anonymous visitor. `unclear`: only Better Auth can tell. */
export type Credentials = { readonly cacheKey: string } | "none" | "unclear";

export function credentialNames({ authCookies, options }: HostContext): CredentialNames {
  const plugins = options.plugins ?? [];
  const keyHeaders = plugins.some(({ id }) => id === "api-key") ? [KEY_HEADER] : [];
  return {
    sessionToken: authCookies.sessionToken.name,
    sessionData: authCookies.sessionData.name,
    dontRemember: authCookies.dontRememberToken.name,
    hasCookieCache: options.session?.cookieCache?.enabled === true,
    readsAuthorization: plugins.some(({ id }) => id === "bearer"),
    keyHeaders,
  };
}

export function readCredentials(names: CredentialNames, header: ReadHeader): Credentials {
  const cookie = header("cookie") ?? "";
  const session = cookie === "" ? "" : sessionCookies(names, cookie);
  if (session === undefined) return "unclear";
  let cacheKey = session;
  const authorization = names.readsAuthorization ? (header("authorization") ?? "") : "";
  // No header value contains a line break, so one part cannot be mistaken for another.
  if (authorization !== "") cacheKey += `\nauthorization ${authorization}`;
  for (const name of names.keyHeaders) {
    const key = header(name) ?? "";
    if (key !== "") cacheKey += `\nkey ${key}`;
  }
  if (cacheKey === "") return "none";
  return cacheKey.length > MAX_CACHE_KEY_LENGTH ? "unclear" : { cacheKey };
}

/** The cookies from which Better Auth reads a session; undefined where it may parse the header differently. */
function sessionCookies(names: CredentialNames, cookie: string): string | undefined {
  const token = onlyCookie(cookie, names.sessionToken);
  if (token === undefined) return undefined;
  const dontRemember = token === "" ? "" : dontRememberCookie(names, cookie);
  if (dontRemember === undefined) return undefined;
  if (!cookie.includes(names.sessionData)) return token + dontRemember;
  // Better Auth deletes an unused session copy with a `Set-Cookie` header.
  if (!names.hasCookieCache || token === "") return undefined;
  const copies = cookie
    .split(";")
    .map((part) => part.trim())
    .filter((part) => part.startsWith(names.sessionData));
  return [token, ...copies, dontRemember].join(";");
}

/** Whether Better Auth renews the session depends on this cookie. Its value is no credential and not part of the key. */
function dontRememberCookie(names: CredentialNames, cookie: string): string | undefined {
  if (!cookie.includes(names.dontRemember)) return "";
  const pair = onlyCookie(cookie, names.dontRemember);
  // No cookie value contains a semicolon.
  return pair === undefined || pair === "" ? pair : `;${names.dontRemember}`;
}

const SEMICOLON = ";".charCodeAt(0);
const EQUALS = "=".charCodeAt(0);
const SPACE = " ".charCodeAt(0);

/** The cookie as `name=value`, or empty. Undefined when it occurs twice, or can be parsed in two ways. */
function onlyCookie(cookie: string, name: string): string | undefined {
  let pair = "";
  for (let at = cookie.indexOf(name); at !== -1; at = cookie.indexOf(name, at + name.length)) {
    const before = at === 0 ? SEMICOLON : cookie.charCodeAt(at - 1);
    const after = cookie.charCodeAt(at + name.length);
    if (isNameCharacter(before) || isNameCharacter(after)) continue;
    if (after !== EQUALS || pair !== "" || !startsPart(cookie, at)) return undefined;
    const end = cookie.indexOf(";", at);
    pair = end === -1 ? cookie.slice(at) : cookie.slice(at, end);
  }
  return pair;
}

/** Whether only spaces precede this position in its part of the header. */
function startsPart(cookie: string, at: number): boolean {
  let before = at - 1;
  while (before >= 0 && cookie.charCodeAt(before) === SPACE) before -= 1;
  return before < 0 || cookie.charCodeAt(before) === SEMICOLON;
}

/** Such a character beside the name makes it part of another cookie's name. */
function isNameCharacter(code: number): boolean {
  return code > SPACE && code < 0x7f && code !== SEMICOLON && code !== EQUALS;
}
