/** Operations on the audit log: `/feature-flags/admin/audit`. */
import type { AuditAction } from "../../model/audit.ts";
import { type ListFeatureFlagAuditEntriesQuery, parseAuditQuery } from "../../model/list-query.ts";
import type { FlagAction } from "../access/actions.ts";
import { admitToAuditEntry, admitToTenants, findListedFlag } from "../access/admission.ts";
import { requireDeclaredChange } from "../declared-values.ts";
import { anyJson, integer, listOf, objectOf, oneOf, string, time } from "../http/openapi.ts";
import { entityId } from "../http/parameters.ts";
import type { Change, Get, InBody, Operation, Post } from "./definition.ts";
import { CHANGE_QUERY } from "./schemas.ts";

/** Reads the audit log, newest first. `flagId` may be the key of a flag that exists. Needs `audit`. */
export const listFeatureFlagAuditEntries: Operation<
  Get<"/feature-flags/admin/audit", ListFeatureFlagAuditEntriesQuery>
> = {
  summary: "Read the audit log",
  method: "GET",
  path: "/feature-flags/admin/audit",
  scope: "server",
  action: "audit",
  rateLimit: "admin",
  query: ["organizationId", "flagId", "userId", "action", "start", "end", "limit", "offset"],
  result: () => objectOf({ entries: listOf(ENTRY) }, ["entries"]),
  async run(call) {
    const tenants = await admitToTenants(call);
    const query = await findListedFlag(call, parseAuditQuery(call.request.query));
    return { entries: await call.service.store.listAudit(tenants, query) };
  },
};

/**
 * Makes the inverse change of an audit entry, with an entry of its own. Refused with 409 and the fields if later changes
 * touched them. Needs `audit`, and what the inverse change needs: `create` for a deletion, `delete` for a creation.
 */
export const revertFeatureFlagAuditEntry: Operation<
  Post<"/feature-flags/admin/audit/:id/revert", Record<string, never> | undefined> &
    Change &
    InBody<{ id: string }>
> = {
  summary: "Revert an audit entry",
  method: "POST",
  path: "/feature-flags/admin/audit/:id/revert",
  scope: "server",
  action: "audit",
  rateLimit: "admin",
  query: CHANGE_QUERY,
  result: () =>
    objectOf({ id: string, action: string, flagId: string, entityId: string, missingOverrides: integer }),
  async run(call) {
    const { scope, id } = await admitToAuditEntry(
      call,
      () => entityId(call.request, "id"),
      (action) => NEEDED[action],
    );
    const { service } = call;
    return service.store.revert(scope, id, (change) => requireDeclaredChange(service, change));
  },
};

/** What the inverse of each action needs. */
const NEEDED: Readonly<Record<AuditAction, FlagAction>> = {
  "flag.created": "delete",
  "flag.updated": "update",
  "flag.deleted": "create",
  "rule.created": "update",
  "rule.updated": "update",
  "rule.deleted": "update",
  "override.created": "override",
  "override.deleted": "override",
  "segment.created": "update",
  "segment.updated": "update",
  "segment.deleted": "update",
};

const ENTRY = objectOf({
  id: string,
  revision: integer,
  at: time,
  action: string,
  actor: objectOf({ type: oneOf("user", "key", "system"), id: string }),
  impersonatedBy: string,
  organizationId: string,
  flagId: string,
  flagKey: string,
  entityId: string,
  before: anyJson,
  after: anyJson,
  ip: string,
  userAgent: string,
  requestId: string,
  changeId: string,
  note: string,
  prevHash: string,
  hash: string,
});
