/** A request that has not passed through Better Auth, in the form that operations expect. */
import type { HostContext, HostRequest } from "../http/host-request.ts";
import type { Arrival } from "./arrival.ts";

export class FastRequest implements HostRequest {
  readonly body: unknown;
  readonly context: HostContext;
  readonly query: undefined = undefined;
  readonly params: undefined = undefined;
  /** As alternating names and values. */
  readonly #headers: string[] = [];
  readonly #arrival: Arrival;
  #responseHeaders: Headers | undefined;
  status = 200;

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

  get answerHeaders(): readonly string[] {
    return this.#responseHeaders === undefined
      ? this.#headers
      : [...this.#headers, ...[...this.#responseHeaders].flat()];
  }

  /** Every header is set once. */
  setHeader(name: string, value: string): void {
    this.#headers.push(name, value);
  }

  setStatus(status: Parameters<HostRequest["setStatus"]>[0]): void {
    this.status = Number(status);
  }
}
