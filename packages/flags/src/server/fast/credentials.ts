/** What a request proves who makes it with, as one string: the same string is the same caller. */
import type { Call } from "../call.ts";

/** Reads a header by its name in lower case. */
export type ReadHeader = (name: string) => string | null | undefined;

/** Where the host's Better Auth looks for credentials. */
export interface CredentialNames {
  readonly sessionToken: string;
  readonly sessionData: string;
  readonly dontRemember: string;
  /** Whether the cookie may carry a copy of the session. */
  readonly hasCookieCache: boolean;
  /** Whether a plugin reads the header `authorization`. */
  readonly readsAuthorization: boolean;
  /** Headers that may hold a key. */
  readonly keyHeaders: readonly string[];
}

/** `none`: nobody known. `unclear`: nothing that can be told without Better Auth. */
export type Credential = { readonly proof: string } | "none" | "unclear";

const SERVER_KEY = "x-api-key";

export function credentialNames({ authCookies, options }: Call["context"]): CredentialNames {
  const plugins = options.plugins ?? [];
  const keyHeaders = plugins.some(({ id }) => id === "api-key") ? [SERVER_KEY] : [];
  return {
    sessionToken: authCookies.sessionToken.name,
    sessionData: authCookies.sessionData.name,
    dontRemember: authCookies.dontRememberToken.name,
    hasCookieCache: options.session?.cookieCache?.enabled === true,
    readsAuthorization: plugins.some(({ id }) => id === "bearer"),
    keyHeaders,
  };
}

export function readCredential(names: CredentialNames, header: ReadHeader): Credential {
  const cookie = header("cookie") ?? "";
  const session = cookie === "" ? "" : sessionCookies(names, cookie);
  if (session === undefined) return "unclear";
  let proof = session;
  const authorization = names.readsAuthorization ? (header("authorization") ?? "") : "";
  // No cookie has a line break in it, so one part cannot pass for another.
  if (authorization !== "") proof += `\nauthorization ${authorization}`;
  for (const name of names.keyHeaders) {
    const key = header(name) ?? "";
    if (key !== "") proof += `\nkey ${key}`;
  }
  return proof === "" ? "none" : { proof };
}

/** The cookies that Better Auth reads a session from; undefined where it may understand the header differently. */
function sessionCookies(names: CredentialNames, cookie: string): string | undefined {
  const token = onlyCookie(cookie, names.sessionToken);
  if (token === undefined) return undefined;
  const kept = token === "" ? "" : remembering(names, cookie);
  if (kept === undefined) return undefined;
  if (!cookie.includes(names.sessionData)) return token + kept;
  // Better Auth removes a copy that it does not read, which takes an answer of its own.
  if (!names.hasCookieCache || token === "") return undefined;
  const copies = cookie
    .split(";")
    .map((part) => part.trim())
    .filter((part) => part.startsWith(names.sessionData));
  return [token, ...copies, kept].join(";");
}

/** Whether Better Auth is to prolong the session. */
function remembering(names: CredentialNames, cookie: string): string | undefined {
  return cookie.includes(names.dontRemember) ? onlyCookie(cookie, names.dontRemember) : "";
}

const SEMICOLON = ";".charCodeAt(0);
const EQUALS = "=".charCodeAt(0);
const SPACE = " ".charCodeAt(0);

/** The cookie `name=value`, empty without one; undefined when it is there twice, or in a form that can be read two ways. */
function onlyCookie(cookie: string, name: string): string | undefined {
  let found = "";
  for (let at = cookie.indexOf(name); at !== -1; at = cookie.indexOf(name, at + name.length)) {
    const before = at === 0 ? SEMICOLON : cookie.charCodeAt(at - 1);
    const after = cookie.charCodeAt(at + name.length);
    if (isNameCharacter(before) || isNameCharacter(after)) continue;
    const isPlain = (before === SEMICOLON || before === SPACE) && after === EQUALS;
    if (!isPlain || found !== "" || !startsPart(cookie, at)) return undefined;
    const end = cookie.indexOf(";", at);
    found = end === -1 ? cookie.slice(at) : cookie.slice(at, end);
  }
  return found;
}

/** Whether only spaces are between this place and the end of the cookie before. */
function startsPart(cookie: string, at: number): boolean {
  let before = at - 1;
  while (before >= 0 && cookie.charCodeAt(before) === SPACE) before -= 1;
  return before < 0 || cookie.charCodeAt(before) === SEMICOLON;
}

/** Part of a longer name, such as that of another cookie which begins or ends with this one. */
function isNameCharacter(code: number): boolean {
  return code > SPACE && code < 0x7f && code !== SEMICOLON && code !== EQUALS;
}
