/** Operations on segments: `/feature-flags/admin/segments`. */
import { isPlainObject } from "../../engine/json.ts";
import { type ListFeatureFlagSegmentsQuery, parseSegmentListQuery } from "../../model/list-query.ts";
import {
  type FlagSegment,
  type FlagSegmentInput,
  type FlagSegmentPatch,
  SEGMENT_FIELDS,
} from "../../model/segment.ts";
import {
  createSegmentBody,
  parseSegmentInput,
  parseSegmentPatch,
  segmentPatchBody,
} from "../../model/segment-input.ts";
import type { WithWarnings } from "../../model/warning.ts";
import { admitToEntity, admitToOrganization, admitToTenants } from "../access/admission.ts";
import type { GuardedCall } from "../call.ts";
import { readBody } from "../http/body-limit.ts";
import { entityOf, listOf, type ObjectSchema, objectOf } from "../http/openapi.ts";
import { entityFields, entityId, expectedVersion, versioned } from "../http/parameters.ts";
import { withAttributeWarnings } from "../trusted/attribute-warnings.ts";
import type {
  Change,
  Delete,
  EntityQuery,
  ExpectedVersion,
  Get,
  InBody,
  Operation,
  Patch,
  Post,
} from "./definition.ts";
import {
  CHANGE_QUERY,
  ENTITY_CHANGE_QUERY,
  ENTITY_QUERY,
  PAGE_QUERY,
  PAGE_SCHEMA,
  withWarnings,
} from "./schemas.ts";

type SegmentsPath = "/feature-flags/admin/segments";
type SegmentPath = "/feature-flags/admin/segments/:id";

/** Lists segments. Needs `read`. */
export const listFeatureFlagSegments: Operation<Get<SegmentsPath, ListFeatureFlagSegmentsQuery>> = {
  summary: "List segments",
  method: "GET",
  path: "/feature-flags/admin/segments",
  scope: "server",
  action: "read",
  rateLimit: "admin",
  query: PAGE_QUERY,
  result: () => objectOf({ segments: listOf(segmentSchema()), page: PAGE_SCHEMA }, ["segments", "page"]),
  async run(call) {
    const tenants = await admitToTenants(call);
    return call.service.store.listSegments(tenants, parseSegmentListQuery(call.request.query));
  },
};

/** Creates a segment. Needs `update`. */
export const createFeatureFlagSegment: Operation<Post<SegmentsPath, FlagSegmentInput> & Change> = {
  summary: "Create a segment",
  method: "POST",
  path: "/feature-flags/admin/segments",
  scope: "server",
  action: "update",
  rateLimit: "admin",
  query: CHANGE_QUERY,
  body: createSegmentBody,
  status: 201,
  result: () => withWarnings(segmentSchema()),
  async run(call) {
    const { service, request } = call;
    const organizationId = isPlainObject(request.body) ? request.body["organizationId"] : undefined;
    const scope = await admitToOrganization(call, organizationId);
    return written(call, await service.store.createSegment(scope, parseSegmentInput(readBody(call))));
  },
};

/** Reads a segment. The id may be the key. Needs `read`. */
export const getFeatureFlagSegment: Operation<Get<SegmentPath, EntityQuery>> = {
  summary: "Read a segment",
  method: "GET",
  path: "/feature-flags/admin/segments/:id",
  scope: "server",
  action: "read",
  rateLimit: "admin",
  query: ENTITY_QUERY,
  result: segmentSchema,
  async run(call) {
    const { scope, id } = await admitToSegment(call);
    return versioned(call.request, await call.service.store.getSegment(scope.tenant, id));
  },
};

/**
 * Changes a segment, and with it every rule that names it. The id may be the key. With `version`, a segment that has
 * another version is not changed (409). Needs `update`.
 */
export const updateFeatureFlagSegment: Operation<
  Patch<SegmentPath, FlagSegmentPatch> & InBody<FlagSegmentPatch & { id: string } & ExpectedVersion>
> = {
  summary: "Change a segment",
  method: "PATCH",
  path: "/feature-flags/admin/segments/:id",
  scope: "server",
  action: "update",
  rateLimit: "admin",
  query: ENTITY_CHANGE_QUERY,
  body: segmentPatchBody,
  result: () => withWarnings(segmentSchema()),
  async run(call) {
    const { service, request } = call;
    const { scope, id } = await admitToSegment(call);
    const patch = parseSegmentPatch(entityFields(request, readBody(call), "id", "version"));
    const segment = await service.store.updateSegment(scope, id, patch, expectedVersion(request));
    return written(call, segment);
  },
};

/** Deletes a segment that no rule uses. The id may be the key. Needs `update`. */
export const deleteFeatureFlagSegment: Operation<
  Delete<SegmentPath> & InBody<{ id: string } & ExpectedVersion>
> = {
  summary: "Delete a segment that no rule uses",
  method: "DELETE",
  path: "/feature-flags/admin/segments/:id",
  scope: "server",
  action: "update",
  rateLimit: "admin",
  query: ENTITY_CHANGE_QUERY,
  status: 204,
  async run(call) {
    const { scope, id } = await admitToSegment(call);
    await call.service.store.deleteSegment(scope, id, expectedVersion(call.request));
  },
};

/** The segment with its version, and with warnings about the attributes that it reads. */
function written({ service, request }: GuardedCall, segment: FlagSegment): WithWarnings<FlagSegment> {
  return versioned(request, withAttributeWarnings(service.options.trusted, segment));
}

function admitToSegment(call: GuardedCall): ReturnType<typeof admitToEntity> {
  return admitToEntity(call, "segment", () => entityId(call.request, "id"));
}

function segmentSchema(): ObjectSchema {
  return entityOf(SEGMENT_FIELDS);
}
