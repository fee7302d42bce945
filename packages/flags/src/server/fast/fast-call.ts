/** A call that has not come through Better Auth, for operations that expect one. */
import type { Call, HeaderReader } from "../call.ts";
import { introduce } from "../caller.ts";
import type { Arrival } from "./arrival.ts";
import { attachPrincipal } from "./host-principals.ts";
import type { FastCaller } from "./known-caller.ts";

export class FastCall implements Call {
  readonly body: unknown;
  readonly context: Call["context"];
  readonly query: undefined = undefined;
  readonly params: undefined = undefined;
  readonly #arrival: Arrival;
  #responseHeaders: Headers | undefined;

  constructor(
    context: Call["context"],
    arrival: Arrival,
    { caller, principal, isStale }: FastCaller,
    body: unknown,
  ) {
    this.context = context;
    this.#arrival = arrival;
    this.body = body;
    introduce(this, caller);
    if (principal !== undefined) attachPrincipal(this, principal, isStale);
  }

  get reader(): HeaderReader {
    return this.#arrival;
  }

  get headers(): Headers {
    return this.#arrival.headers;
  }

  get request(): { readonly headers: Headers } {
    return this.#arrival;
  }

  get responseHeaders(): Headers {
    this.#responseHeaders ??= new Headers();
    return this.#responseHeaders;
  }

  /** The headers of the answer, names and values in turn: most answers have none. */
  get answerHeaders(): string[] {
    return this.#responseHeaders === undefined ? [] : [...this.#responseHeaders].flat();
  }

  setHeader(name: string, value: string): void {
    this.responseHeaders.set(name, value);
  }

  setStatus(): void {
    throw new Error("Operations on the fast path answer with 200.");
  }
}
