/** The address of the server: resolved for every attempt, and shown in errors without its secrets. */
import type { Environment } from "./environment.ts";
import { failure } from "./failures.ts";
import { text } from "./texts.ts";

/**
 * The absolute `ws:` or `wss:` address. Throws `INVALID_ARGUMENT` when there is none. An absolute address is used as
 * given, because React Native's `URL` has no setters and adds a slash to paths.
 */
export function resolveUrl(given: string | URL, { location }: Environment): string {
  const url = `${given}`;
  try {
    const { href } = new URL(url, location?.href);
    const rest = afterScheme(url) ?? afterScheme(href);
    if (rest) return `ws${rest}`;
  } catch {}
  throw failure("INVALID_ARGUMENT", text("url", publicUrl(url)));
}

/** From the `s` of `wss:` or `https:`, or the colon; without the fragment, which a socket refuses. */
function afterScheme(url: string): string | undefined {
  return /^(?:ws|http)(s?:\/\/[^/?#][^#]*)/i.exec(url)?.[1];
}

/** The address without query and user info, which may contain a token. */
export function publicUrl(url: string): string {
  return url.replace(/[?#].*/s, "").replace(/\/\/.*@/, "//");
}
