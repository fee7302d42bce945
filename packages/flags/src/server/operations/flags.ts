/** Operations on flags: `/feature-flags/admin/flags` and the methods for server code. */
import { isPlainObject } from "../../engine/json.ts";
import type {
  CreateFeatureFlagInput,
  FeatureFlag,
  FeatureFlagPatch,
  ListedFeatureFlag,
} from "../../model/flag.ts";
import {
  createFlagBody,
  flagPatchBody,
  parseCreateInput,
  parseFlagPatch,
  type UpdateFeatureFlagInput,
} from "../../model/flag-input.ts";
import { type ListFeatureFlagsQuery, parseFlagListQuery } from "../../model/list-query.ts";
import type { Page } from "../../model/page.ts";
import { admitToEntity, admitToList, admitToOrganization } from "../access/admission.ts";
import type { GuardedCall } from "../call.ts";
import { readBody } from "../http/body-limit.ts";
import { entityOf, integer, listOf, type ObjectSchema, objectOf, string, time } from "../http/openapi.ts";
import { bodyId, bodyVersion, headerVersion, pathId, versioned, withoutFields } from "../http/parameters.ts";
import type { Delete, Get, Method, NoQuery, Operation, Patch, Post } from "./definition.ts";
import { withSummaries } from "./figures.ts";
import { PAGE_QUERY, PAGE_SCHEMA } from "./schemas.ts";

type FlagPath = "/feature-flags/admin/flags/:id";

/** Lists flags. Needs `read`. */
export const listFeatureFlags: Operation<
  Get<"/feature-flags/admin/flags", ListFeatureFlagsQuery, { flags: ListedFeatureFlag[]; page: Page }>
> = {
  summary: "List flags",
  method: "GET",
  path: "/feature-flags/admin/flags",
  scope: "server",
  action: "read",
  rateLimit: "admin",
  query: [...PAGE_QUERY, "q", "type", "enabled", "prefix", "include"],
  result: () => objectOf({ flags: listOf(flagSchema()), page: PAGE_SCHEMA }, ["flags", "page"]),
  async run(call) {
    const { service, request } = call;
    const { tenants, label } = await admitToList(call);
    const query = parseFlagListQuery(request.query);
    const { flags, page } = await service.store.listFlags(tenants, {
      ...query,
      ...(label !== undefined && { organizationId: label }),
    });
    return { flags: query.include === "stats" ? await withSummaries(service, flags) : flags, page };
  },
};

/** Creates a flag. Needs `create`. */
export const createFeatureFlag: Operation<
  Post<"/feature-flags/admin/flags", CreateFeatureFlagInput, FeatureFlag>
> = {
  summary: "Create a flag",
  method: "POST",
  path: "/feature-flags/admin/flags",
  scope: "server",
  action: "create",
  rateLimit: "admin",
  body: createFlagBody,
  status: 201,
  result: flagSchema,
  async run(call) {
    const { service, request } = call;
    // Permission first: a caller without it does not learn what a valid flag looks like.
    const organizationId = isPlainObject(request.body) ? request.body["organizationId"] : undefined;
    const scope = await admitToOrganization(call, organizationId);
    const input = parseCreateInput(readBody(call));
    const { defaultVisibility = "public" } = service.options;
    const visibility = input.visibility ?? defaultVisibility;
    return versioned(request, await service.store.createFlag(scope, { ...input, visibility }));
  },
};

export const getFeatureFlagRoute: Operation<Get<FlagPath, NoQuery, FeatureFlag, "http">> = {
  summary: "Read a flag",
  method: "GET",
  path: "/feature-flags/admin/flags/:id",
  scope: "http",
  action: "read",
  rateLimit: "admin",
  result: flagSchema,
  async run(call) {
    const { service, request } = call;
    const { scope, id } = await admitToEntity(call, "flag", () => pathId(request, "id"));
    return versioned(request, await service.store.getFlag(scope.tenant, id));
  },
};

/** Changes the fields that are given; `null` clears an optional one. Needs `update`. */
export const updateFeatureFlag: Operation<Method<UpdateFeatureFlagInput, FeatureFlag>> = {
  summary: "Change a flag",
  method: "POST",
  scope: "server",
  action: "update",
  result: flagSchema,
  run: (call) =>
    updateFlag(call, {
      id: () => bodyId(call.request, "id"),
      version: () => bodyVersion(call.request),
      patch: (body) => withoutFields(body, "id", "version"),
    }),
};

/** Over HTTP the id is in the path and the version in `If-Match`. */
export const updateFeatureFlagRoute: Operation<Patch<FlagPath, FeatureFlagPatch, FeatureFlag, "http">> = {
  summary: "Change a flag",
  method: "PATCH",
  path: "/feature-flags/admin/flags/:id",
  scope: "http",
  action: "update",
  rateLimit: "admin",
  // Turning a flag off must stay possible after many other changes.
  mayUseReserve: (body) => isPlainObject(body) && body["enabled"] === false && Object.keys(body).length === 1,
  body: flagPatchBody,
  result: flagSchema,
  run: (call) =>
    updateFlag(call, {
      id: () => pathId(call.request, "id"),
      version: () => headerVersion(call.request),
      patch: (body) => body,
    }),
};

/** Where a request carries the id, the version and the fields. */
interface UpdateSource {
  id(): string;
  version(): number | undefined;
  patch(body: unknown): unknown;
}

async function updateFlag(call: GuardedCall, from: UpdateSource): Promise<FeatureFlag> {
  const { scope, id } = await admitToEntity(call, "flag", from.id);
  const patch = parseFlagPatch(from.patch(readBody(call)));
  const flag = await call.service.store.updateFlag(scope, id, patch, from.version());
  return versioned(call.request, flag);
}

/** Deletes a flag with its rules and overrides. Needs `delete`. */
export const deleteFeatureFlag: Operation<Method<{ id: string; version?: number | undefined }, void>> = {
  summary: "Delete a flag",
  method: "POST",
  scope: "server",
  action: "delete",
  status: 204,
  async run(call) {
    const { scope, id } = await admitToEntity(call, "flag", () => bodyId(call.request, "id"));
    await call.service.store.deleteFlag(scope, id, bodyVersion(call.request));
  },
};

export const deleteFeatureFlagRoute: Operation<Delete<FlagPath, "http">> = {
  summary: "Delete a flag with its rules and overrides",
  method: "DELETE",
  path: "/feature-flags/admin/flags/:id",
  scope: "http",
  action: "delete",
  rateLimit: "admin",
  status: 204,
  async run(call) {
    const { scope, id } = await admitToEntity(call, "flag", () => pathId(call.request, "id"));
    await call.service.store.deleteFlag(scope, id, headerVersion(call.request));
  },
};

function flagSchema(): ObjectSchema {
  return entityOf(createFlagBody, { id: string, version: integer, createdAt: time, updatedAt: time });
}
