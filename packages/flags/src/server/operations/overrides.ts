/** Operations on overrides: `/feature-flags/admin/overrides`. */
import { type ListFeatureFlagOverridesQuery, parseOverrideListQuery } from "../../model/list-query.ts";
import { type FlagOverrideInput, OVERRIDE_FIELDS } from "../../model/override.ts";
import { createOverrideBody, parseOverrideInput } from "../../model/override-input.ts";
import { admitToEntity, admitToTenants, findListedFlag } from "../access/admission.ts";
import { requireDeclaredValue } from "../declared-values.ts";
import { readBody } from "../http/body-limit.ts";
import { entityOf, listOf, type ObjectSchema, objectOf } from "../http/openapi.ts";
import { bodyId, entityId } from "../http/parameters.ts";
import type { Change, Delete, Get, InBody, Operation, Post } from "./definition.ts";
import { unknownUser } from "./override-user.ts";
import { CHANGE_QUERY, ENTITY_CHANGE_QUERY, PAGE_QUERY, PAGE_SCHEMA, withWarnings } from "./schemas.ts";

/** Lists overrides. `flagId` may be the flag's key. Needs `read`. */
export const listFeatureFlagOverrides: Operation<
  Get<"/feature-flags/admin/overrides", ListFeatureFlagOverridesQuery>
> = {
  summary: "List overrides",
  method: "GET",
  path: "/feature-flags/admin/overrides",
  scope: "server",
  action: "read",
  rateLimit: "admin",
  query: [...PAGE_QUERY, "flagId", "userId", "q"],
  result: () => objectOf({ overrides: listOf(overrideSchema()), page: PAGE_SCHEMA }, ["overrides", "page"]),
  async run(call) {
    const tenants = await admitToTenants(call);
    const query = parseOverrideListQuery(call.request.query);
    return call.service.store.listOverrides(tenants, await findListedFlag(call, query));
  },
};

/**
 * Sets a flag's value for one user. `flagId` may be the flag's key. The result has `warnings` if the override probably
 * never applies. Needs `override`.
 */
export const createFeatureFlagOverride: Operation<
  Post<"/feature-flags/admin/overrides", FlagOverrideInput> & Change & { readonly namesFlag: true }
> = {
  summary: "Create an override",
  method: "POST",
  path: "/feature-flags/admin/overrides",
  scope: "server",
  action: "override",
  rateLimit: "admin",
  query: ENTITY_CHANGE_QUERY,
  body: createOverrideBody,
  status: 201,
  result: () => withWarnings(overrideSchema()),
  async run(call) {
    const { scope, id } = await admitToEntity(call, "flag", () => bodyId(call.request, "flagId"));
    const input = parseOverrideInput(readBody(call));
    await requireDeclaredValue(call.service, scope.tenant, id, input.value);
    // Before the write: in a transaction of the host, a rejected query on PostgreSQL ends the transaction.
    const warning = await unknownUser(call, input.userId);
    const override = await call.service.store.createOverride(scope, { ...input, flagId: id });
    return warning === undefined ? override : { ...override, warnings: [warning] };
  },
};

/** Deletes an override: the user gets the flag's value by its rules again. Needs `override`. */
export const deleteFeatureFlagOverride: Operation<
  Delete<"/feature-flags/admin/overrides/:id", Record<string, never>> & InBody<{ id: string }>
> = {
  summary: "Delete an override",
  method: "DELETE",
  path: "/feature-flags/admin/overrides/:id",
  scope: "server",
  action: "override",
  rateLimit: "admin",
  query: CHANGE_QUERY,
  status: 204,
  async run(call) {
    const { scope, id } = await admitToEntity(call, "override", () => entityId(call.request, "id"));
    await call.service.store.deleteOverride(scope, id);
  },
};

function overrideSchema(): ObjectSchema {
  return entityOf(OVERRIDE_FIELDS);
}
