/** A request as the fast path reads it, on any server. */

export interface Arrival {
  /** Reads a header by its name in lower case. */
  get(name: string): string | null;
  /** All headers; building them may cost time. */
  readonly headers: Headers;
  /** The peer's network address, where the server provides it. */
  readonly socketAddress: string | undefined;
}

export interface FastAnswer {
  readonly status: number;
  readonly body: string;
  /** Alternating names and values, in addition to `USUAL_HEADERS`. */
  readonly headers: readonly string[];
}

/** Not modified: the client has this response, so it gets no body. */
export const NOT_MODIFIED = 304;
