/** Operations on a flag's rules: `/feature-flags/admin/flags/:flagId/rules` and the methods for server code. */
import type { FlagRule, FlagRuleInput, FlagRulePatch } from "../../model/rule.ts";
import {
  type CreateFeatureFlagRuleInput,
  createRuleBody,
  parseRuleInput,
  parseRulePatch,
  rulePatchBody,
} from "../../model/rule-input.ts";
import { admitToEntity, possibleId } from "../access/admission.ts";
import type { GuardedCall } from "../call.ts";
import { readBody } from "../http/body-limit.ts";
import { entityOf, integer, listOf, type ObjectSchema, objectOf, string, time } from "../http/openapi.ts";
import { bodyId, headerVersion, pathId, versioned, withoutFields } from "../http/parameters.ts";
import type { Delete, Get, Method, NoQuery, Operation, Patch, Post } from "./definition.ts";

type RulesPath = "/feature-flags/admin/flags/:flagId/rules";
type RulePath = "/feature-flags/admin/flags/:flagId/rules/:ruleId";

/** Lists a flag's rules in the order in which they are evaluated. Needs `read`. */
export const listFeatureFlagRules: Operation<Get<RulesPath, NoQuery, { rules: FlagRule[] }>> = {
  summary: "List a flag's rules",
  method: "GET",
  path: "/feature-flags/admin/flags/:flagId/rules",
  scope: "server",
  action: "read",
  rateLimit: "admin",
  result: () => objectOf({ rules: listOf(ruleSchema()) }, ["rules"]),
  async run(call) {
    const { scope, id } = await admitToFlag(call);
    return { rules: await call.service.store.listRules(scope.tenant, id) };
  },
};

/** Creates a rule. Needs `update`. */
export const createFeatureFlagRule: Operation<Method<CreateFeatureFlagRuleInput, FlagRule>> = {
  summary: "Create a rule",
  method: "POST",
  scope: "server",
  action: "update",
  status: 201,
  result: ruleSchema,
  async run(call) {
    const { request } = call;
    const { scope, id } = await admitToEntity(call, "flag", () => bodyId(request, "flagId"));
    const input = parseRuleInput(withoutFields(readBody(call), "flagId"));
    return versioned(request, await call.service.store.createRule(scope, id, input));
  },
};

/** Over HTTP the flag is in the path. */
export const createFeatureFlagRuleRoute: Operation<Post<RulesPath, FlagRuleInput, FlagRule, "http">> = {
  summary: "Create a rule",
  method: "POST",
  path: "/feature-flags/admin/flags/:flagId/rules",
  scope: "http",
  action: "update",
  rateLimit: "admin",
  body: createRuleBody,
  status: 201,
  result: ruleSchema,
  async run(call) {
    const { scope, id } = await admitToFlag(call);
    const input = parseRuleInput(readBody(call));
    return versioned(call.request, await call.service.store.createRule(scope, id, input));
  },
};

export const updateFeatureFlagRuleRoute: Operation<Patch<RulePath, FlagRulePatch, FlagRule, "http">> = {
  summary: "Change a rule",
  method: "PATCH",
  path: "/feature-flags/admin/flags/:flagId/rules/:ruleId",
  scope: "http",
  action: "update",
  rateLimit: "admin",
  body: rulePatchBody,
  result: ruleSchema,
  async run(call) {
    const { service, request } = call;
    const { scope, id } = await admitToFlag(call);
    const body = readBody(call);
    const ruleId = possibleId("rule", pathId(request, "ruleId"));
    const rule = await service.store.updateRule(
      scope,
      id,
      ruleId,
      parseRulePatch(body),
      headerVersion(request),
    );
    return versioned(request, rule);
  },
};

export const deleteFeatureFlagRuleRoute: Operation<Delete<RulePath, "http">> = {
  summary: "Delete a rule",
  method: "DELETE",
  path: "/feature-flags/admin/flags/:flagId/rules/:ruleId",
  scope: "http",
  action: "update",
  rateLimit: "admin",
  status: 204,
  async run(call) {
    const { scope, id } = await admitToFlag(call);
    const ruleId = possibleId("rule", pathId(call.request, "ruleId"));
    await call.service.store.deleteRule(scope, id, ruleId, headerVersion(call.request));
  },
};

function admitToFlag(call: GuardedCall): ReturnType<typeof admitToEntity> {
  return admitToEntity(call, "flag", () => pathId(call.request, "flagId"));
}

function ruleSchema(): ObjectSchema {
  return entityOf(createRuleBody, { id: string, flagId: string, version: integer, createdAt: time });
}
