/** A request as operations see it: Better Auth's endpoint context, or the fast path's stand-in for one. */

import type { GenericEndpointContext } from "@better-auth/core";
import type { IdentityRequest } from "@halyard/sessions/plugin";

export interface HostRequest
  extends IdentityRequest,
    Pick<GenericEndpointContext, "body" | "query" | "params" | "setHeader" | "setStatus"> {}

/** Better Auth's context of the auth instance. */
export type HostContext = HostRequest["context"];

/** Reads single headers by name in lower case. */
export type HeaderReader = Pick<Headers, "get">;
