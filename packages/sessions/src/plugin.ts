/** For plugins of Better Auth that identify the callers of their own endpoints. */

export type { Caller, Principal } from "./callers/caller.ts";
export type { ReadHeader } from "./callers/credentials.ts";
export { IdentityError, type IdentityProblem } from "./callers/errors.ts";
export { isHarmlessPlugin } from "./callers/harmless-plugins.ts";
export { createIdentities, type Identities, type IdentityOptions } from "./callers/identities.ts";
export { KEY_HEADER, type ServerKey } from "./callers/keys.ts";
export { type KnownCaller, type KnownTies, recallCaller } from "./callers/known-caller.ts";
export type { LookupGuard } from "./callers/lookup-guard.ts";
export { hasOrganizations, isPossibleId, organizationsUnavailable } from "./callers/organizations.ts";
export { type HostContext, headersOf, type IdentityRequest, isServerCall } from "./callers/request.ts";
export { RequestIdentity } from "./callers/request-identity.ts";
export type { SessionUser } from "./callers/session.ts";
export { type ChangeHooks, changeHooks } from "./changes/change-hooks.ts";
export type { RowChange } from "./changes/identity-change.ts";
export { watchIdentityWrites } from "./changes/watched-writes.ts";
export { followedTokenOf } from "./live/followed-token.ts";
