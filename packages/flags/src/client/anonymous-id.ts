/** The id of an anonymous visitor, in a first-party cookie that the server reads as well. */
import { ANONYMOUS_ID, ANONYMOUS_ID_COOKIE } from "../model/bootstrap.ts";
import { newId } from "./environment.ts";

const ONE_YEAR_SECONDS = 31_536_000;

export interface AnonymousId {
  /** The visitor's id, created on first use. Undefined outside of a page. */
  read(): string | undefined;
  /** Stores the id that the server chose for the first page, unless the visitor has one. */
  keep(id: string): void;
  /** Replaces the id, because the next visitor may be another person. Does nothing outside of a page. */
  renew(): void;
}

export function createAnonymousId(): AnonymousId {
  /** The id of this page if cookies are blocked, or if the id is not a valid cookie value. */
  let chosen: string | undefined;

  function store(id: string): void {
    chosen = id;
    const secure = location.protocol === "https:" ? "; secure" : "";
    const line = `${ANONYMOUS_ID_COOKIE}=${id}`;
    if (ANONYMOUS_ID.exec(line)?.[1] !== id) return;
    // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is not in every browser yet.
    document.cookie = `${line}; path=/; max-age=${ONE_YEAR_SECONDS}; samesite=lax${secure}`;
  }

  function keepOr(choose: () => string): string | undefined {
    if (typeof document === "undefined") return undefined;
    try {
      const stored = ANONYMOUS_ID.exec(document.cookie)?.[1];
      if (stored !== undefined) return stored;
      store(chosen ?? choose());
    } catch {
      // In a sandboxed frame, access to cookies throws.
      chosen ??= choose();
    }
    return chosen;
  }

  return {
    read: () => keepOr(newId),
    keep: (id) => void keepOr(() => id),
    renew() {
      try {
        if (typeof document !== "undefined") store(newId());
      } catch {
        // In a sandboxed frame, the id lives as long as the page.
      }
    },
  };
}
