/** The audit log: `GET /feature-flags/admin/audit` and `auth.api.listFeatureFlagAuditEntries`. */
import type { AuditEntry } from "../model/audit.ts";
import { parseAuditQuery, parseQueriedOrganization } from "../model/list-query.ts";
import { admitToList, refuseLabel } from "./access.ts";
import { answer, type Call } from "./call.ts";
import { ROUTES } from "./routes.ts";
import type { Service } from "./service.ts";

export function listAudit(service: Service, call: Call): Promise<{ entries: AuditEntry[] }> {
  return answer(call, "STORAGE_ERROR", async () => {
    const { action } = ROUTES.listFeatureFlagAuditEntries;
    const organization = () => parseQueriedOrganization(call.query);
    const tenants = await admitToList(service, call, action, organization);
    refuseLabel(service, organization());
    return { entries: await service.store.listAudit(tenants, parseAuditQuery(call.query)) };
  });
}
