/** A call that has not come through Better Auth, for operations that expect one. */
import type { Call } from "../call.ts";
import { introduce } from "../caller.ts";
import type { Arrival } from "./arrival.ts";
import { attachPrincipal } from "./host-principals.ts";
import type { FastCaller } from "./known-caller.ts";

export class FastCall implements Call {
  readonly body: unknown;
  readonly context: Call["context"];
  readonly query: undefined = undefined;
  readonly params: undefined = undefined;
  readonly responseHeaders: Headers = new Headers();
  readonly #arrival: Arrival;

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

  get headers(): Headers {
    return this.#arrival.headers;
  }

  get request(): { readonly headers: Headers } {
    return this.#arrival;
  }

  setHeader(name: string, value: string): void {
    this.responseHeaders.set(name, value);
  }

  setStatus(): void {
    throw new Error("Operations on the fast path answer with 200.");
  }
}
