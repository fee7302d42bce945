/** A request that has not passed through Better Auth, in the form that operations expect. */
import type { HostContext, HostRequest } from "../http/host-request.ts";
import type { Arrival } from "./arrival.ts";

export class FastRequest implements HostRequest {
  readonly body: unknown;
  readonly context: HostContext;
  readonly query: undefined = undefined;
  readonly params: undefined = undefined;
  readonly #arrival: Arrival;
  #responseHeaders: Headers | undefined;

  constructor(context: HostContext, arrival: Arrival, body: unknown) {
    this.context = context;
    this.#arrival = arrival;
    this.body = body;
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

  /** The response headers as alternating names and values; most responses have none. */
  get answerHeaders(): string[] {
    return this.#responseHeaders === undefined ? [] : [...this.#responseHeaders].flat();
  }

  setHeader(name: string, value: string): void {
    this.responseHeaders.set(name, value);
  }

  setStatus(): void {
    throw new Error("Operations on the fast path respond with 200.");
  }
}
