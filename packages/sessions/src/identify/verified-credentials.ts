/** Credentials that Better Auth has verified, so that a connection that comes back needs only the rows of its session. */

import type { SessionName } from "../watched/session-reader.ts";
import type { RequestCredentials } from "./auth-instance.ts";
import { type CredentialNames, credentialNames, readCredentials } from "./credentials.ts";
import { isHarmlessPlugin } from "./harmless-plugins.ts";
import { KEY_HEADER } from "./keys.ts";
import type { HostContext } from "./request.ts";

/** The endpoint that verifies, which a plugin may replace. */
const PATH = "/get-session";
const MAX_SESSIONS = 100_000;

/** The last ones of each session: headers that Better Auth ignores must not make more of them. */
export class VerifiedCredentials {
  /** Undefined if Better Auth must verify everything. */
  readonly #names: CredentialNames | undefined;
  readonly #byKey = new Map<string, SessionName>();
  /** The key of each session, by its id. The session that was verified first comes first. */
  readonly #keys = new Map<string, string>();

  constructor(context: HostContext) {
    this.#names = canRemember(context) ? credentialNames(context) : undefined;
  }

  /** The same key is the same caller. Undefined if Better Auth must verify the credentials every time. */
  keyOf({ headers, token }: RequestCredentials): string | undefined {
    if (this.#names === undefined) return undefined;
    if (token !== undefined) return `token ${token}`;
    // A key may be used up, which only its plugin knows.
    if (headers.has(KEY_HEADER)) return undefined;
    const credentials = readCredentials(this.#names, (name) => headers.get(name));
    return typeof credentials === "string" ? undefined : credentials.cacheKey;
  }

  get(key: string): SessionName | undefined {
    return this.#byKey.get(key);
  }

  add(key: string, name: SessionName): void {
    this.delete(name);
    this.#byKey.set(key, name);
    this.#keys.set(name.sessionId, key);
    for (const [sessionId, oldest] of this.#keys) {
      if (this.#keys.size <= MAX_SESSIONS) break;
      this.#keys.delete(sessionId);
      this.#byKey.delete(oldest);
    }
  }

  delete({ sessionId }: SessionName): void {
    const key = this.#keys.get(sessionId);
    if (key === undefined) return;
    this.#keys.delete(sessionId);
    this.#byKey.delete(key);
  }
}

/**
 * A hook of the host, or a plugin that answers the request itself, may refuse what it accepted before. The API key plugin
 * acts on requests with a key only.
 */
function canRemember({ options: { hooks, plugins = [] } }: HostContext): boolean {
  if (hooks?.before !== undefined || hooks?.after !== undefined) return false;
  return plugins.every(
    (plugin) =>
      (plugin.id === "api-key" || isHarmlessPlugin(plugin)) &&
      Object.values(plugin.endpoints ?? {}).every(({ path }) => path !== PATH),
  );
}
