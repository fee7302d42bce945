/** Operations on flags: `/feature-flags/admin/flags`. */
import { isPlainObject } from "../../engine/json.ts";
import { type CreateFeatureFlagInput, type FeatureFlagPatch, FLAG_FIELDS } from "../../model/flag.ts";
import {
  createFlagBody,
  flagPatchBody,
  parseCreateInput,
  parseFlagPatch,
  type UpdateFeatureFlagInput,
} from "../../model/flag-input.ts";
import { type ListFeatureFlagsQuery, parseFlagListQuery } from "../../model/list-query.ts";
import { admitToEntity, admitToList, admitToOrganization } from "../access/admission.ts";
import { requireMultiTenant } from "../access/multi-tenant.ts";
import { requireDeclaredFlag, requireDeclaredPatch } from "../declared-values.ts";
import { readBody } from "../http/body-limit.ts";
import { entityOf, listOf, type ObjectSchema, objectOf } from "../http/openapi.ts";
import { entityFields, entityId, expectedVersion, versioned } from "../http/parameters.ts";
import { requireListed } from "../listed-environments.ts";
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
import { withSummaries } from "./figures.ts";
import {
  CHANGE_QUERY,
  ENTITY_CHANGE_QUERY,
  ENTITY_QUERY,
  PAGE_QUERY,
  PAGE_SCHEMA,
  withWarnings,
} from "./schemas.ts";

type FlagPath = "/feature-flags/admin/flags/:id";

/** Lists flags. Needs `read`. */
export const listFeatureFlags: Operation<Get<"/feature-flags/admin/flags", ListFeatureFlagsQuery>> = {
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
    return { flags: query.include === "stats" ? await withSummaries(service, tenants, flags) : flags, page };
  },
};

/** Creates a flag. The result has `warnings` if turning the flag off would change nothing. Needs `create`. */
export const createFeatureFlag: Operation<
  Post<"/feature-flags/admin/flags", CreateFeatureFlagInput> & Change
> = {
  summary: "Create a flag",
  method: "POST",
  path: "/feature-flags/admin/flags",
  scope: "server",
  action: "create",
  rateLimit: "admin",
  query: CHANGE_QUERY,
  body: createFlagBody,
  status: 201,
  result: writtenFlagSchema,
  async run(call) {
    const { service, request } = call;
    // Permission first: a caller without it does not learn what a valid flag looks like.
    const organizationId = isPlainObject(request.body) ? request.body["organizationId"] : undefined;
    const scope = await admitToOrganization(call, organizationId);
    const input = parseCreateInput(readBody(call));
    requireMultiTenant(service, input);
    requireListed(service, input);
    requireDeclaredFlag(service, input);
    const { defaultVisibility = "public" } = service.options;
    const visibility = input.visibility ?? defaultVisibility;
    return versioned(request, await service.store.createFlag(scope, { ...input, visibility }));
  },
};

/** Reads a flag. The id may be the key. Needs `read`. */
export const getFeatureFlag: Operation<Get<FlagPath, EntityQuery>> = {
  summary: "Read a flag",
  method: "GET",
  path: "/feature-flags/admin/flags/:id",
  scope: "server",
  action: "read",
  rateLimit: "admin",
  query: ENTITY_QUERY,
  result: flagSchema,
  async run(call) {
    const { service, request } = call;
    const { scope, id } = await admitToEntity(call, "flag", () => entityId(request, "id"));
    return versioned(request, await service.store.getFlag(scope.tenant, id));
  },
};

/**
 * Changes the fields that are given; `null` clears an optional one. `id` may be the key. With `version`, a flag that
 * has another version is not changed (409). The result has `warnings` if turning the flag off changes nothing. Needs
 * `update`.
 */
export const updateFeatureFlag: Operation<
  Patch<FlagPath, FeatureFlagPatch> & InBody<UpdateFeatureFlagInput>
> = {
  summary: "Change a flag",
  method: "PATCH",
  path: "/feature-flags/admin/flags/:id",
  scope: "server",
  action: "update",
  rateLimit: "admin",
  // Turning a flag off must stay possible after many other changes.
  mayUseReserve: (body) =>
    isPlainObject(body) &&
    body["enabled"] === false &&
    Object.keys(body).every((name) => name === "enabled" || name === "id"),
  query: ENTITY_CHANGE_QUERY,
  body: flagPatchBody,
  result: writtenFlagSchema,
  async run(call) {
    const { service, request } = call;
    const { scope, id } = await admitToEntity(call, "flag", () => entityId(request, "id"));
    const patch = parseFlagPatch(entityFields(request, readBody(call), "id", "version"));
    requireMultiTenant(service, patch);
    await requireDeclaredPatch(service, scope.tenant, id, patch);
    return versioned(request, await service.store.updateFlag(scope, id, patch, expectedVersion(request)));
  },
};

/** Deletes a flag with its rules and overrides. `id` may be the key. Needs `delete`. */
export const deleteFeatureFlag: Operation<Delete<FlagPath> & InBody<{ id: string } & ExpectedVersion>> = {
  summary: "Delete a flag with its rules and overrides",
  method: "DELETE",
  path: "/feature-flags/admin/flags/:id",
  scope: "server",
  action: "delete",
  rateLimit: "admin",
  query: ENTITY_CHANGE_QUERY,
  status: 204,
  async run(call) {
    const { scope, id } = await admitToEntity(call, "flag", () => entityId(call.request, "id"));
    await call.service.store.deleteFlag(scope, id, expectedVersion(call.request));
  },
};

function flagSchema(): ObjectSchema {
  return entityOf(FLAG_FIELDS);
}

function writtenFlagSchema(): ObjectSchema {
  return withWarnings(flagSchema());
}
