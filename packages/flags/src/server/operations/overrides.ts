/** Operations on overrides: `/feature-flags/admin/overrides`. */
import { type ListFeatureFlagOverridesQuery, parseOverrideListQuery } from "../../model/list-query.ts";
import type { FlagOverride, FlagOverrideInput } from "../../model/override.ts";
import { createOverrideBody, parseOverrideInput } from "../../model/override-input.ts";
import type { Page } from "../../model/page.ts";
import { admitToEntity, admitToTenants } from "../access/admission.ts";
import { readBody } from "../http/body-limit.ts";
import { entityOf, listOf, type ObjectSchema, objectOf, string, time } from "../http/openapi.ts";
import { bodyId, pathId } from "../http/parameters.ts";
import type { Delete, Get, Operation, Post } from "./definition.ts";
import { PAGE_QUERY, PAGE_SCHEMA } from "./schemas.ts";

/** Lists overrides. Needs `read`. */
export const listFeatureFlagOverrides: Operation<
  Get<
    "/feature-flags/admin/overrides",
    ListFeatureFlagOverridesQuery,
    { overrides: FlagOverride[]; page: Page }
  >
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
    return call.service.store.listOverrides(tenants, parseOverrideListQuery(call.request.query));
  },
};

/** Sets a flag's value for one user. Needs `override`. */
export const createFeatureFlagOverride: Operation<
  Post<"/feature-flags/admin/overrides", FlagOverrideInput, FlagOverride>
> = {
  summary: "Create an override",
  method: "POST",
  path: "/feature-flags/admin/overrides",
  scope: "server",
  action: "override",
  rateLimit: "admin",
  body: createOverrideBody,
  status: 201,
  result: overrideSchema,
  async run(call) {
    const { scope } = await admitToEntity(call, "flag", () => bodyId(call.request, "flagId"));
    return call.service.store.createOverride(scope, parseOverrideInput(readBody(call)));
  },
};

export const deleteFeatureFlagOverrideRoute: Operation<Delete<"/feature-flags/admin/overrides/:id", "http">> =
  {
    summary: "Delete an override",
    method: "DELETE",
    path: "/feature-flags/admin/overrides/:id",
    scope: "http",
    action: "override",
    rateLimit: "admin",
    status: 204,
    async run(call) {
      const { scope, id } = await admitToEntity(call, "override", () => pathId(call.request, "id"));
      await call.service.store.deleteOverride(scope, id);
    },
  };

function overrideSchema(): ObjectSchema {
  return entityOf(createOverrideBody, { id: string, createdAt: time });
}
