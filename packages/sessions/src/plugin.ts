/** For plugins of Better Auth that identify the callers of their own endpoints. */

export { type ChangeHooks, changeHooks } from "./changes/change-hooks.ts";
export type { RowChange } from "./changes/identity-change.ts";
export { watchIdentityWrites } from "./changes/watched-writes.ts";
export { addressOf } from "./identify/address.ts";
export type { Caller, Principal } from "./identify/caller.ts";
export type { ReadHeader } from "./identify/credentials.ts";
export { IdentityError, type IdentityProblem } from "./identify/errors.ts";
export { isHarmlessPlugin } from "./identify/harmless-plugins.ts";
export { createIdentities, type Identities, type IdentityOptions } from "./identify/identities.ts";
export type { KeyOwner } from "./identify/key-owner.ts";
export {
  findKey,
  KEY_HEADER,
  permissionsOn,
  personalPermissions,
  personalUntil,
  type ServerKey,
  type StoredKey,
} from "./identify/keys.ts";
export {
  type KnownCaller,
  type KnownTies,
  type OrganizationTie,
  recallCaller,
} from "./identify/known-caller.ts";
export { hasOrganizations, isPossibleId, organizationsUnavailable } from "./identify/organizations.ts";
export { type HostContext, headersOf, type IdentityRequest, isServerCall } from "./identify/request.ts";
export { type LookupGuard, RequestIdentity } from "./identify/request-identity.ts";
export type { SessionUser } from "./identify/session.ts";
export { followedTokenOf } from "./identify/sessions.ts";
export { isOtherForm, mayExist } from "./watched/field-reader.ts";
export type { RowFields, WatchedFields, WatchedModel } from "./watched/watched-fields.ts";
export { type FieldsOptions, watchFields } from "./watched/watched-sessions.ts";
