/** A request as the fast path sees it, whatever server it came to. */

export interface Arrival {
  /** Reads a header by its name in lower case. */
  get(name: string): string | null;
  /** All headers, for operations that want them so. */
  readonly headers: Headers;
  /** The address at the other end of the connection, where it is known. */
  readonly socketAddress: string | undefined;
}

export interface FastAnswer {
  readonly status: number;
  readonly body: string;
  /** Names and values in turn, beside those that all answers have. */
  readonly headers: readonly string[];
}

/** What every answer of ours has. */
export const USUAL_HEADERS: readonly string[] = [
  "content-type",
  "application/json",
  "cache-control",
  "no-store",
  "pragma",
  "no-cache",
];

/** As Better Auth takes a media type for JSON, and accepts it. */
export function isJson(contentType: string | null): boolean {
  if (contentType === "application/json") return true;
  if (contentType === null) return false;
  const type = contentType.toLowerCase();
  return /^application\/json\s*(?:;|$)/.test(type);
}
