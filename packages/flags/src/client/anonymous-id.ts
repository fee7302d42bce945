/** Who a visitor is before signing in: an id of our own in a first-party cookie, which the server can read, too. */
import { ANONYMOUS_ID, ANONYMOUS_ID_COOKIE } from "../model/bootstrap.ts";
import { newId } from "./environment.ts";

const ONE_YEAR_SECONDS = 31_536_000;

export interface AnonymousId {
  /** The visitor's id, made on first use. Undefined where there is no page: a program is not a visitor. */
  read(): string | undefined;
  /** Makes an id the visitor's, unless there is one: the server chooses one for the first page it renders. */
  keep(id: string): void;
}

export function createAnonymousId(): AnonymousId {
  /** For pages that may have no cookies, and ids that are none for a cookie. */
  let chosen: string | undefined;

  function keepOr(choose: () => string): string | undefined {
    if (typeof document === "undefined") return undefined;
    try {
      const kept = ANONYMOUS_ID.exec(document.cookie)?.[1];
      if (kept !== undefined) return kept;
      chosen ??= choose();
      const secure = location.protocol === "https:" ? "; secure" : "";
      const line = `${ANONYMOUS_ID_COOKIE}=${chosen}`;
      if (ANONYMOUS_ID.exec(line)?.[1] === chosen) {
        // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is not in every browser yet.
        document.cookie = `${line}; path=/; max-age=${ONE_YEAR_SECONDS}; samesite=lax${secure}`;
      }
    } catch {
      // A sandboxed frame has no cookies, and says so by throwing.
      chosen ??= choose();
    }
    return chosen;
  }

  return { read: () => keepOr(newId), keep: (id) => void keepOr(() => id) };
}
