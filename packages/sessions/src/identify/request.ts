/** The parts of a request that identify its caller. */
import type { GenericEndpointContext } from "@better-auth/core";

/** An endpoint context of Better Auth has these members. */
export interface IdentityRequest
  extends Pick<GenericEndpointContext, "context" | "headers" | "responseHeaders"> {
  /** Present for requests over HTTP. */
  readonly request?: { readonly headers: Headers } | undefined;
}

/** Better Auth's context of the auth instance. */
export type HostContext = IdentityRequest["context"];

/** The headers of a request, over HTTP or through `auth.api`. */
export function headersOf({ headers, request }: IdentityRequest): Headers {
  return headers instanceof Headers ? headers : new Headers(headers ?? request?.headers);
}

/**
 * Whether the application's own code makes the call through `auth.api`. Any `headers` make it the call of the caller
 * they identify, because an application forwards selected headers of a request, which an attacker chooses.
 */
export function isServerCall(call: Pick<IdentityRequest, "headers" | "request">): boolean {
  // In this order: a request over HTTP may have to build its headers when they are read.
  return call.request === undefined && call.headers === undefined;
}
