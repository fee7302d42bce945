/** Operations on a flag's rules: `/feature-flags/admin/flags/:flagId/rules`. */
import { type FlagRule, type FlagRuleInput, type FlagRulePatch, RULE_FIELDS } from "../../model/rule.ts";
import {
  type CreateFeatureFlagRuleInput,
  createRuleBody,
  parseRuleInput,
  parseRulePatch,
  rulePatchBody,
} from "../../model/rule-input.ts";
import type { WithWarnings } from "../../model/warning.ts";
import { admitToEntity, possibleId } from "../access/admission.ts";
import type { GuardedCall } from "../call.ts";
import { requireDeclaredRule } from "../declared-values.ts";
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
import { ENTITY_CHANGE_QUERY, ENTITY_QUERY, withWarnings } from "./schemas.ts";

type RulesPath = "/feature-flags/admin/flags/:flagId/rules";
type RulePath = "/feature-flags/admin/flags/:flagId/rules/:ruleId";

/** Names a rule in a body. */
type RuleIds = { flagId: string; ruleId: string };

/** Lists a flag's rules in the order in which they are evaluated. `flagId` may be the flag's key. Needs `read`. */
export const listFeatureFlagRules: Operation<Get<RulesPath, EntityQuery>> = {
  summary: "List a flag's rules",
  method: "GET",
  path: "/feature-flags/admin/flags/:flagId/rules",
  scope: "server",
  action: "read",
  rateLimit: "admin",
  query: ENTITY_QUERY,
  result: () => objectOf({ rules: listOf(ruleSchema()) }, ["rules"]),
  async run(call) {
    const { scope, id } = await admitToFlag(call);
    return { rules: await call.service.store.listRules(scope.tenant, id) };
  },
};

/**
 * Creates a rule. `flagId` may be the flag's key. The result has `warnings` if turning the flag off changes nothing, or if
 * the conditions read an attribute that is probably misspelt. Needs `update`.
 */
export const createFeatureFlagRule: Operation<
  Post<RulesPath, FlagRuleInput> & InBody<CreateFeatureFlagRuleInput> & Change
> = {
  summary: "Create a rule",
  method: "POST",
  path: "/feature-flags/admin/flags/:flagId/rules",
  scope: "server",
  action: "update",
  rateLimit: "admin",
  query: ENTITY_CHANGE_QUERY,
  body: createRuleBody,
  status: 201,
  result: writtenRuleSchema,
  async run(call) {
    const { scope, id } = await admitToFlag(call);
    const input = parseRuleInput(entityFields(call.request, readBody(call), "flagId"));
    await requireDeclaredRule(call.service, scope.tenant, id, input);
    return written(call, await call.service.store.createRule(scope, id, input));
  },
};

/**
 * Changes the fields that are given; `null` clears an optional one. `flagId` may be the flag's key. With `version`, a rule
 * that has another version is not changed (409). Needs `update`.
 */
export const updateFeatureFlagRule: Operation<
  Patch<RulePath, FlagRulePatch> & InBody<FlagRulePatch & RuleIds & ExpectedVersion>
> = {
  summary: "Change a rule",
  method: "PATCH",
  path: "/feature-flags/admin/flags/:flagId/rules/:ruleId",
  scope: "server",
  action: "update",
  rateLimit: "admin",
  query: ENTITY_CHANGE_QUERY,
  body: rulePatchBody,
  result: writtenRuleSchema,
  async run(call) {
    const { service, request } = call;
    const { scope, id } = await admitToFlag(call);
    const patch = parseRulePatch(entityFields(request, readBody(call), "flagId", "ruleId", "version"));
    const ruleId = possibleId("rule", entityId(request, "ruleId"));
    await requireDeclaredRule(service, scope.tenant, id, patch, ruleId);
    const rule = await service.store.updateRule(scope, id, ruleId, patch, expectedVersion(request));
    return written(call, rule);
  },
};

/** Deletes a rule. `flagId` may be the flag's key. Needs `update`. */
export const deleteFeatureFlagRule: Operation<Delete<RulePath> & InBody<RuleIds & ExpectedVersion>> = {
  summary: "Delete a rule",
  method: "DELETE",
  path: "/feature-flags/admin/flags/:flagId/rules/:ruleId",
  scope: "server",
  action: "update",
  rateLimit: "admin",
  query: ENTITY_CHANGE_QUERY,
  status: 204,
  async run(call) {
    const { scope, id } = await admitToFlag(call);
    const ruleId = possibleId("rule", entityId(call.request, "ruleId"));
    await call.service.store.deleteRule(scope, id, ruleId, expectedVersion(call.request));
  },
};

/** The rule with its version, and with warnings about the attributes that it reads. */
function written({ service, request }: GuardedCall, rule: WithWarnings<FlagRule>): WithWarnings<FlagRule> {
  return versioned(request, withAttributeWarnings(service.options.trusted, rule));
}

function admitToFlag(call: GuardedCall): ReturnType<typeof admitToEntity> {
  return admitToEntity(call, "flag", () => entityId(call.request, "flagId"));
}

function ruleSchema(): ObjectSchema {
  return entityOf(RULE_FIELDS);
}

function writtenRuleSchema(): ObjectSchema {
  return withWarnings(ruleSchema());
}
