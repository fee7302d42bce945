/** Operations on the audit log: `/feature-flags/admin/audit` and `/feature-flags/admin/changes`. */
import { uuidv7 } from "@halyard/base";
import { type ListFeatureFlagAuditEntriesQuery, parseAuditQuery } from "../../model/list-query.ts";
import type { DraftStep } from "../../store/flag-store.ts";
import { admitToRevert, admitToTenants, findListedFlag } from "../access/admission.ts";
import { requireDeclaredChange } from "../declared-values.ts";
import { anyJson, anyObject, integer, listOf, objectOf, oneOf, string, time } from "../http/openapi.ts";
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
  query: ["organizationId", "flagId", "userId", "changeId", "action", "start", "end", "limit", "offset"],
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
    const { service, request } = call;
    let id = "";
    const scope = await admitToRevert(call, () => {
      id = entityId(request, "id");
      return { id };
    });
    return service.store.revert(scope, id, (step) => requireDeclaredChange(service, step));
  },
};

/**
 * Makes the inverse of a whole change, a save or an applied plan: all its entries, newest first, in one transaction.
 * Refused with 409 and the fields if later changes touched them. Needs `audit`, and what the inverse changes need.
 */
export const revertFeatureFlagChange: Operation<
  Post<"/feature-flags/admin/changes/:changeId/revert", Record<string, never> | undefined> &
    Change &
    InBody<{ changeId: string }>
> = {
  summary: "Revert a whole change",
  method: "POST",
  path: "/feature-flags/admin/changes/:changeId/revert",
  scope: "server",
  action: "audit",
  rateLimit: "admin",
  query: CHANGE_QUERY,
  result: () => objectOf({ changeId: string, flags: listOf(anyObject), missingOverrides: integer }),
  async run(call) {
    const { service, request } = call;
    let revert = "";
    const scope = await admitToRevert(call, () => {
      revert = entityId(request, "changeId");
      return { changeId: revert };
    });
    const check = (step: DraftStep) => requireDeclaredChange(service, step);
    return service.store.makeDraft({ ...scope, changeId: uuidv7() }, { revert }, check);
  },
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
