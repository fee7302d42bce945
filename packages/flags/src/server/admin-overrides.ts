/** Administration of overrides: the routes under `/feature-flags/admin/overrides` and their server methods. */
import { parseOverrideListQuery, parseQueriedOrganization } from "../model/list-query.ts";
import type { FlagOverride } from "../model/override.ts";
import { parseOverrideInput } from "../model/override-input.ts";
import type { Page } from "../model/page.ts";
import { admitToEntity, admitToList, refuseLabel } from "./access.ts";
import { checkBodySize } from "./body-limit.ts";
import { answer, type Call } from "./call.ts";
import { bodyId, pathId } from "./request.ts";
import { ROUTES } from "./routes.ts";
import type { Service } from "./service.ts";

export function listOverrides(
  service: Service,
  call: Call,
): Promise<{ overrides: FlagOverride[]; page: Page }> {
  return answer(call, "STORAGE_ERROR", async () => {
    const { action } = ROUTES.listFeatureFlagOverrides;
    const organization = () => parseQueriedOrganization(call.query);
    const tenants = await admitToList(service, call, action, organization);
    refuseLabel(service, organization());
    return service.store.listOverrides(tenants, parseOverrideListQuery(call.query));
  });
}

export function createOverride(service: Service, call: Call): Promise<FlagOverride> {
  return answer(call, "STORAGE_ERROR", async () => {
    const { action } = ROUTES.createFeatureFlagOverride;
    const { scope } = await admitToEntity(service, call, action, "flag", () => bodyId(call, "flagId"));
    checkBodySize(call);
    const override = await service.store.createOverride(scope, parseOverrideInput(call.body));
    call.setStatus(201);
    return override;
  });
}

export function deleteOverride(service: Service, call: Call): Promise<void> {
  return answer(call, "STORAGE_ERROR", async () => {
    const { action } = ROUTES.deleteFeatureFlagOverrideRoute;
    const { scope, id } = await admitToEntity(service, call, action, "override", () => pathId(call, "id"));
    await service.store.deleteOverride(scope, id);
    call.setStatus(204);
  });
}
