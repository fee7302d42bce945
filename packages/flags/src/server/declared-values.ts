/** Refuses values that are not as declared with `defineFlags`, and environments that are not listed, before they are stored. */
import type { JsonValue } from "../engine/json.ts";
import { canonicalJson } from "../model/canonical-json.ts";
import type { FlagDeclaration } from "../model/declared.ts";
import { findMisfit } from "../model/declared-shape.ts";
import { patchEnvironments } from "../model/environments.ts";
import { FeatureFlagError } from "../model/errors.ts";
import type { FeatureFlagPatch, FlagDraft } from "../model/flag.ts";
import type { FlagRulePatch } from "../model/rule.ts";
import type { DraftStep } from "../store/flag-store.ts";
import { requireListed, unlistedIn } from "./listed-environments.ts";
import type { Service } from "./service.ts";

/** The fields with values of a flag. A change of other fields is not checked, so that any flag can be disabled. */
const CHECKED: readonly (keyof FeatureFlagPatch)[] = [
  "key",
  "type",
  "defaultValue",
  "offValue",
  "variants",
  "environments",
];

/** Throws if a new flag is not as declared. */
export function requireDeclaredFlag(service: Service, flag: FlagDraft): void {
  const declaration = declarationOf(service, flag.key);
  if (declaration === undefined) return;
  if (flag.type !== declaration.type) {
    throw misfit(flag.key, "type", `type is ${flag.type}, not ${declaration.type}`);
  }
  for (const [field, value] of valuesOf(flag)) requireFit(flag.key, declaration, field, value);
}

/** Throws if a flag would not be as declared after the change, or would have a new environment that is not listed. */
export async function requireDeclaredPatch(
  service: Service,
  tenant: string,
  id: string,
  patch: FeatureFlagPatch,
): Promise<void> {
  if (unlistedIn(service, patch).length > 0) {
    requireListed(service, patch, await service.store.getFlag(tenant, id));
  }
  if (service.options.flags === undefined || !CHECKED.some((field) => patch[field] !== undefined)) return;
  const { key, type, ...values } = await service.store.getFlag(tenant, id);
  const changed = {
    ...values,
    ...patched(values, patch),
    name: "",
    key: patch.key ?? key,
    type: patch.type ?? type,
  };
  requireDeclaredFlag(service, changed);
  const declaration = changed.key === key ? undefined : declarationOf(service, changed.key);
  if (declaration === undefined) return;
  for (const { value, priority } of await service.store.listRules(tenant, id)) {
    if (value !== undefined)
      requireFit(changed.key, declaration, `value of the rule with priority ${priority}`, value);
  }
}

/** Throws if a rule has a value that is not as declared, or a new environment that is not listed. */
export async function requireDeclaredRule(
  service: Service,
  tenant: string,
  flagId: string,
  rule: FlagRulePatch,
  ruleId?: string,
): Promise<void> {
  if (unlistedIn(service, rule).length > 0) {
    const stored = ruleId === undefined ? [] : await service.store.listRules(tenant, flagId);
    requireListed(
      service,
      rule,
      stored.find(({ id }) => id === ruleId),
    );
  }
  await requireDeclaredValue(service, tenant, flagId, rule.value);
}

/** Throws if the value of a rule or an override is not as the flag was declared. */
export async function requireDeclaredValue(
  service: Service,
  tenant: string,
  flagId: string,
  value: JsonValue | undefined,
): Promise<void> {
  if (service.options.flags === undefined || value === undefined) return;
  const { key } = await service.store.getFlag(tenant, flagId);
  const declaration = declarationOf(service, key);
  if (declaration !== undefined) requireFit(key, declaration, "value", value);
}

/** Throws if a change of a draft or a revert has values that are not as declared, or environments that are not listed. */
export function requireDeclaredChange(service: Service, { flagKey, before, after }: DraftStep): void {
  if (after !== null) requireListed(service, after, before ?? {});
  if (service.options.flags === undefined || after === null) return;
  const [left, right] = [new Map(Object.entries(before ?? {})), new Map(Object.entries(after))];
  const isSame = (field: string) => canonicalJson(left.get(field)) === canonicalJson(right.get(field));
  // Only flags have a type. Rules and overrides have a value.
  if (right.has("type")) {
    if (!CHECKED.every(isSame)) requireDeclaredFlag(service, after as FlagDraft);
    return;
  }
  const declaration = declarationOf(service, flagKey);
  const value = right.get("value");
  if (declaration !== undefined && value !== undefined && !isSame("value")) {
    requireFit(flagKey, declaration, "value", value);
  }
}

function declarationOf({ options: { flags = {} } }: Service, key: string): FlagDeclaration | undefined {
  return Object.hasOwn(flags, key) ? flags[key] : undefined;
}

function* valuesOf({
  defaultValue,
  offValue,
  variants = [],
  environments = {},
}: ValueFields): Iterable<[string, JsonValue]> {
  if (defaultValue !== undefined) yield ["defaultValue", defaultValue];
  if (offValue !== undefined) yield ["offValue", offValue];
  for (const [index, { value }] of variants.entries()) yield [`variants[${index}].value`, value];
  for (const [name, settings] of Object.entries(environments)) {
    for (const field of ["defaultValue", "offValue"] as const) {
      const value = settings[field];
      if (value !== undefined) yield [`environments.${name}.${field}`, value];
    }
  }
}

type ValueFields = Pick<FlagDraft, "defaultValue" | "offValue" | "variants" | "environments">;

/** The fields with values after the change. */
function patched(
  stored: ValueFields,
  { defaultValue, offValue, variants, environments }: FeatureFlagPatch,
): ValueFields {
  return {
    ...(defaultValue !== undefined && { defaultValue }),
    ...(offValue !== undefined && { offValue }),
    ...(variants !== undefined && { variants: variants ?? undefined }),
    ...(environments !== undefined && {
      environments: environments === null ? undefined : patchEnvironments(stored.environments, environments),
    }),
  };
}

function requireFit(key: string, declaration: FlagDeclaration, field: string, value: JsonValue): void {
  // Except for JSON, `null` clears a value.
  const isCleared = value === null && declaration.type !== "json";
  const problem = isCleared ? undefined : findMisfit(declaration, value);
  if (problem !== undefined) throw misfit(key, field, field + problem);
}

function misfit(key: string, field: string, problem: string): FeatureFlagError {
  return new FeatureFlagError(
    "INVALID_FLAG_TYPE",
    `Flag "${key}" would not be as declared: ${problem}. Send a value that fits, or change the declaration in defineFlags.`,
    { details: { field, flagKey: key } },
  );
}
