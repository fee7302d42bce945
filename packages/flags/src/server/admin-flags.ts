/** Administration of flags: the routes under `/feature-flags/admin/flags` and their server methods. */
import { isPlainObject } from "../engine/json.ts";
import type { FeatureFlag, ListedFeatureFlag } from "../model/flag.ts";
import { parseCreateInput, parseFlagPatch } from "../model/flag-input.ts";
import { parseFlagListQuery, parseQueriedOrganization } from "../model/list-query.ts";
import type { Page } from "../model/page.ts";
import { admitToEntity, admitToList, admitToOrganization } from "./access.ts";
import { checkBodySize } from "./body-limit.ts";
import { answer, type Call } from "./call.ts";
import { bodyId, bodyVersion, bodyWithout, headerVersion, pathId, versioned } from "./request.ts";
import { ROUTES } from "./routes.ts";
import type { Service } from "./service.ts";
import { withSummaries } from "./stats.ts";

export function listFlags(service: Service, call: Call): Promise<{ flags: ListedFeatureFlag[]; page: Page }> {
  return answer(call, "STORAGE_ERROR", async () => {
    const organization = () => parseQueriedOrganization(call.query);
    const tenants = await admitToList(service, call, ROUTES.listFeatureFlags.action, organization);
    const query = parseFlagListQuery(call.query);
    const label = service.options.multiTenant === true ? undefined : organization();
    const { flags, page } = await service.store.listFlags(tenants, {
      ...query,
      ...(label !== undefined && { organizationId: label }),
    });
    return { flags: query.include === "stats" ? await withSummaries(service, flags) : flags, page };
  });
}

export function createFlag(service: Service, call: Call): Promise<FeatureFlag> {
  return answer(call, "STORAGE_ERROR", async () => {
    // Who may not create a flag does not learn what a valid one looks like.
    const organizationId = isPlainObject(call.body) ? call.body["organizationId"] : undefined;
    const scope = await admitToOrganization(service, call, ROUTES.createFeatureFlag.action, organizationId);
    checkBodySize(call);
    const input = parseCreateInput(call.body);
    const { defaultVisibility = "public" } = service.options;
    const flag = await service.store.createFlag(scope, {
      ...input,
      visibility: input.visibility ?? defaultVisibility,
    });
    call.setStatus(201);
    return versioned(call, flag);
  });
}

export function getFlag(service: Service, call: Call): Promise<FeatureFlag> {
  return answer(call, "STORAGE_ERROR", async () => {
    const { scope, id } = await admitToEntity(service, call, ROUTES.getFeatureFlagRoute.action, "flag", () =>
      pathId(call, "id"),
    );
    return versioned(call, await service.store.getFlag(scope.tenant, id));
  });
}

/** `PATCH`: the id is in the path, the version in `If-Match`. */
export function patchFlag(service: Service, call: Call): Promise<FeatureFlag> {
  return updateFlag(service, call, {
    id: () => pathId(call, "id"),
    version: headerVersion,
    patch: () => call.body,
  });
}

/** The server method: id and version are in the body. */
export function updateFlagByBody(service: Service, call: Call): Promise<FeatureFlag> {
  return updateFlag(service, call, {
    id: () => bodyId(call, "id"),
    version: bodyVersion,
    patch: () => bodyWithout(call, "id", "version"),
  });
}

interface UpdateSource {
  id(): string;
  version(call: Call): number | undefined;
  patch(): unknown;
}

function updateFlag(service: Service, call: Call, from: UpdateSource): Promise<FeatureFlag> {
  return answer(call, "STORAGE_ERROR", async () => {
    const { action } = ROUTES.updateFeatureFlag;
    const { scope, id } = await admitToEntity(service, call, action, "flag", from.id);
    checkBodySize(call);
    const patch = parseFlagPatch(from.patch());
    return versioned(call, await service.store.updateFlag(scope, id, patch, from.version(call)));
  });
}

export function deleteFlag(service: Service, call: Call): Promise<void> {
  return removeFlag(service, call, () => pathId(call, "id"), headerVersion);
}

export function deleteFlagByBody(service: Service, call: Call): Promise<void> {
  return removeFlag(service, call, () => bodyId(call, "id"), bodyVersion);
}

function removeFlag(
  service: Service,
  call: Call,
  readId: () => string,
  version: (call: Call) => number | undefined,
): Promise<void> {
  return answer(call, "STORAGE_ERROR", async () => {
    const { scope, id } = await admitToEntity(service, call, ROUTES.deleteFeatureFlag.action, "flag", readId);
    await service.store.deleteFlag(scope, id, version(call));
    call.setStatus(204);
  });
}
