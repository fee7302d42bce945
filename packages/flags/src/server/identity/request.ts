/** The parts of a request that identify its caller. */
import type { GenericEndpointContext } from "@better-auth/core";

/** An endpoint context of Better Auth has these members. */
export interface IdentityRequest
  extends Pick<GenericEndpointContext, "context" | "headers" | "responseHeaders"> {
  /** Present for requests over HTTP. */
  readonly request?: { readonly headers: Headers } | undefined;
}

export type HostContext = IdentityRequest["context"];

export function headersOf({ headers, request }: IdentityRequest): Headers {
  return headers instanceof Headers ? headers : new Headers(headers ?? request?.headers);
}

/** Whether the application's own code makes the call through `auth.api`, without the headers of a request. */
export function isServerCall({ headers, request }: Pick<IdentityRequest, "headers" | "request">): boolean {
  return request === undefined && headers === undefined;
}

/** The same for evaluations: a call with only neutral headers, which do not identify a caller, is the server's own. */
export function isServerEvaluation(request: IdentityRequest, neutralHeaders: ReadonlySet<string>): boolean {
  if (request.request !== undefined) return false;
  if (request.headers === undefined) return true;
  const names = [...headersOf(request).keys()];
  return names.length > 0 && names.every((name) => neutralHeaders.has(name));
}
