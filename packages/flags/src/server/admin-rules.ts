/** Administration of a flag's rules: the routes under `/feature-flags/admin/flags/:flagId/rules` and their methods. */
import type { FlagRule } from "../model/rule.ts";
import { parseRuleInput, parseRulePatch } from "../model/rule-input.ts";
import { admitToEntity, possibleId } from "./access.ts";
import { checkBodySize } from "./body-limit.ts";
import { answer, type Call } from "./call.ts";
import { bodyId, bodyWithout, headerVersion, pathId, versioned } from "./request.ts";
import { type FlagAction, ROUTES } from "./routes.ts";
import type { Service } from "./service.ts";

export function listRules(service: Service, call: Call): Promise<{ rules: FlagRule[] }> {
  return answer(call, "STORAGE_ERROR", async () => {
    const { scope, id } = await admitByPath(service, call, ROUTES.listFeatureFlagRules.action);
    return { rules: await service.store.listRules(scope.tenant, id) };
  });
}

/** `POST`: the flag is in the path. */
export function createRule(service: Service, call: Call): Promise<FlagRule> {
  return makeRule(
    service,
    call,
    () => pathId(call, "flagId"),
    () => call.body,
  );
}

/** The server method: the flag is in the body. */
export function createRuleByBody(service: Service, call: Call): Promise<FlagRule> {
  return makeRule(
    service,
    call,
    () => bodyId(call, "flagId"),
    () => bodyWithout(call, "flagId"),
  );
}

function makeRule(
  service: Service,
  call: Call,
  readId: () => string,
  fields: () => unknown,
): Promise<FlagRule> {
  return answer(call, "STORAGE_ERROR", async () => {
    const { action } = ROUTES.createFeatureFlagRule;
    const { scope, id } = await admitToEntity(service, call, action, "flag", readId);
    checkBodySize(call);
    const rule = await service.store.createRule(scope, id, parseRuleInput(fields()));
    call.setStatus(201);
    return versioned(call, rule);
  });
}

export function updateRule(service: Service, call: Call): Promise<FlagRule> {
  return answer(call, "STORAGE_ERROR", async () => {
    const { scope, id } = await admitByPath(service, call, ROUTES.updateFeatureFlagRuleRoute.action);
    checkBodySize(call);
    const ruleId = possibleId("rule", pathId(call, "ruleId"));
    const patch = parseRulePatch(call.body);
    return versioned(call, await service.store.updateRule(scope, id, ruleId, patch, headerVersion(call)));
  });
}

export function deleteRule(service: Service, call: Call): Promise<void> {
  return answer(call, "STORAGE_ERROR", async () => {
    const { scope, id } = await admitByPath(service, call, ROUTES.deleteFeatureFlagRuleRoute.action);
    const ruleId = possibleId("rule", pathId(call, "ruleId"));
    await service.store.deleteRule(scope, id, ruleId, headerVersion(call));
    call.setStatus(204);
  });
}

function admitByPath(service: Service, call: Call, action: FlagAction) {
  return admitToEntity(service, call, action, "flag", () => pathId(call, "flagId"));
}
