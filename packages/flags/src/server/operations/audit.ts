/** The operation that reads the audit log: `GET /feature-flags/admin/audit`. */
import type { AuditEntry } from "../../model/audit.ts";
import { type ListFeatureFlagAuditEntriesQuery, parseAuditQuery } from "../../model/list-query.ts";
import { admitToTenants, findListedFlag } from "../access/admission.ts";
import { anyJson, integer, listOf, objectOf, oneOf, string, time } from "../http/openapi.ts";
import type { Get, Operation } from "./definition.ts";

/** Reads the audit log, newest first. `flagId` may be `key:<key>` of a flag that exists. Needs `audit`. */
export const listFeatureFlagAuditEntries: Operation<
  Get<"/feature-flags/admin/audit", ListFeatureFlagAuditEntriesQuery, { entries: AuditEntry[] }>
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
  prevHash: string,
  hash: string,
});
