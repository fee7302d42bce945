/** Operations on segments: `/feature-flags/admin/segments`. */
import { isPlainObject } from "../../engine/json.ts";
import { type ListFeatureFlagSegmentsQuery, parseSegmentListQuery } from "../../model/list-query.ts";
import type { Page } from "../../model/page.ts";
import type { FlagSegment, FlagSegmentInput, FlagSegmentPatch } from "../../model/segment.ts";
import {
  createSegmentBody,
  parseSegmentInput,
  parseSegmentPatch,
  segmentPatchBody,
} from "../../model/segment-input.ts";
import { admitToEntity, admitToOrganization, admitToTenants } from "../access/admission.ts";
import type { GuardedCall } from "../call.ts";
import { readBody } from "../http/body-limit.ts";
import { entityOf, integer, listOf, type ObjectSchema, objectOf, string, time } from "../http/openapi.ts";
import { bodyVersion, headerVersion, pathId, versioned, withoutFields } from "../http/parameters.ts";
import type { Delete, Get, NoQuery, Operation, Patch, Post } from "./definition.ts";
import { PAGE_QUERY, PAGE_SCHEMA } from "./schemas.ts";

type SegmentsPath = "/feature-flags/admin/segments";
type SegmentPath = "/feature-flags/admin/segments/:id";

/** Lists segments. Needs `read`. */
export const listFeatureFlagSegments: Operation<
  Get<SegmentsPath, ListFeatureFlagSegmentsQuery, { segments: FlagSegment[]; page: Page }>
> = {
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
export const createFeatureFlagSegment: Operation<Post<SegmentsPath, FlagSegmentInput, FlagSegment>> = {
  summary: "Create a segment",
  method: "POST",
  path: "/feature-flags/admin/segments",
  scope: "server",
  action: "update",
  rateLimit: "admin",
  body: createSegmentBody,
  status: 201,
  result: segmentSchema,
  async run(call) {
    const { service, request } = call;
    const organizationId = isPlainObject(request.body) ? request.body["organizationId"] : undefined;
    const scope = await admitToOrganization(call, organizationId);
    return versioned(request, await service.store.createSegment(scope, parseSegmentInput(readBody(call))));
  },
};

/** Reads a segment. Needs `read`. */
export const getFeatureFlagSegment: Operation<Get<SegmentPath, NoQuery, FlagSegment>> = {
  summary: "Read a segment",
  method: "GET",
  path: "/feature-flags/admin/segments/:id",
  scope: "server",
  action: "read",
  rateLimit: "admin",
  result: segmentSchema,
  async run(call) {
    const { scope, id } = await admitToSegment(call);
    return versioned(call.request, await call.service.store.getSegment(scope.tenant, id));
  },
};

/** Changes a segment, and with it every rule that names it. Needs `update`. */
export const updateFeatureFlagSegment: Operation<
  Patch<SegmentPath, FlagSegmentPatch & { version?: number | undefined }, FlagSegment, "server">
> = {
  summary: "Change a segment",
  method: "PATCH",
  path: "/feature-flags/admin/segments/:id",
  scope: "server",
  action: "update",
  rateLimit: "admin",
  body: segmentPatchBody,
  result: segmentSchema,
  async run(call) {
    const { service, request } = call;
    const { scope, id } = await admitToSegment(call);
    const body = readBody(call);
    // Over HTTP the version is in `If-Match`, and the body has the segment's fields only.
    const isMethod = request.request === undefined;
    const patch = parseSegmentPatch(isMethod ? withoutFields(body, "version") : body);
    const version = (isMethod ? bodyVersion(request) : undefined) ?? headerVersion(request);
    return versioned(request, await service.store.updateSegment(scope, id, patch, version));
  },
};

/** Deletes a segment that no rule uses. Needs `update`. */
export const deleteFeatureFlagSegment: Operation<Delete<SegmentPath, "server">> = {
  summary: "Delete a segment that no rule uses",
  method: "DELETE",
  path: "/feature-flags/admin/segments/:id",
  scope: "server",
  action: "update",
  rateLimit: "admin",
  status: 204,
  async run(call) {
    const { scope, id } = await admitToSegment(call);
    await call.service.store.deleteSegment(scope, id, headerVersion(call.request));
  },
};

function admitToSegment(call: GuardedCall): ReturnType<typeof admitToEntity> {
  return admitToEntity(call, "segment", () => pathId(call.request, "id"));
}

function segmentSchema(): ObjectSchema {
  return entityOf(createSegmentBody, { id: string, version: integer, createdAt: time, updatedAt: time });
}
