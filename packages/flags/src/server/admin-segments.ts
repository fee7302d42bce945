/** Administration of segments: the routes under `/feature-flags/admin/segments` and their server methods. */
import { isPlainObject } from "../engine/json.ts";
import { parseQueriedOrganization, parseSegmentListQuery } from "../model/list-query.ts";
import type { Page } from "../model/page.ts";
import type { FlagSegment } from "../model/segment.ts";
import { parseSegmentInput, parseSegmentPatch } from "../model/segment-input.ts";
import { admitToEntity, admitToList, admitToOrganization, refuseLabel } from "./access.ts";
import { checkBodySize } from "./body-limit.ts";
import { answer, type Call } from "./call.ts";
import { bodyVersion, bodyWithout, headerVersion, pathId, versioned } from "./request.ts";
import { type FlagAction, ROUTES } from "./routes.ts";
import type { Service } from "./service.ts";

export function listSegments(service: Service, call: Call): Promise<{ segments: FlagSegment[]; page: Page }> {
  return answer(call, "STORAGE_ERROR", async () => {
    const { action } = ROUTES.listFeatureFlagSegments;
    const organization = () => parseQueriedOrganization(call.query);
    const tenants = await admitToList(service, call, action, organization);
    refuseLabel(service, organization());
    return service.store.listSegments(tenants, parseSegmentListQuery(call.query));
  });
}

export function createSegment(service: Service, call: Call): Promise<FlagSegment> {
  return answer(call, "STORAGE_ERROR", async () => {
    const organizationId = isPlainObject(call.body) ? call.body["organizationId"] : undefined;
    const { action } = ROUTES.createFeatureFlagSegment;
    const scope = await admitToOrganization(service, call, action, organizationId);
    checkBodySize(call);
    const segment = await service.store.createSegment(scope, parseSegmentInput(call.body));
    call.setStatus(201);
    return versioned(call, segment);
  });
}

export function getSegment(service: Service, call: Call): Promise<FlagSegment> {
  return answer(call, "STORAGE_ERROR", async () => {
    const { scope, id } = await admit(service, call, ROUTES.getFeatureFlagSegment.action);
    return versioned(call, await service.store.getSegment(scope.tenant, id));
  });
}

export function updateSegment(service: Service, call: Call): Promise<FlagSegment> {
  return answer(call, "STORAGE_ERROR", async () => {
    const { scope, id } = await admit(service, call, ROUTES.updateFeatureFlagSegment.action);
    checkBodySize(call);
    // Over HTTP the version is in `If-Match`, and the body has the segment's own fields only.
    const isMethod = call.request === undefined;
    const patch = parseSegmentPatch(isMethod ? bodyWithout(call, "version") : call.body);
    const version = (isMethod ? bodyVersion(call) : undefined) ?? headerVersion(call);
    return versioned(call, await service.store.updateSegment(scope, id, patch, version));
  });
}

export function deleteSegment(service: Service, call: Call): Promise<void> {
  return answer(call, "STORAGE_ERROR", async () => {
    const { scope, id } = await admit(service, call, ROUTES.deleteFeatureFlagSegment.action);
    await service.store.deleteSegment(scope, id, headerVersion(call));
    call.setStatus(204);
  });
}

function admit(service: Service, call: Call, action: FlagAction) {
  return admitToEntity(service, call, action, "segment", () => pathId(call, "id"));
}
