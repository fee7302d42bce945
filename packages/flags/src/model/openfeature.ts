/** Mapping between this service and OpenFeature: evaluation contexts and reasons. */
import type { EvaluationReason } from "../engine/definition.ts";
import { isPlainObject, type JsonValue } from "../engine/json.ts";
import { TRUSTED_ROOTS } from "../engine/path.ts";
import type { ClaimedContext } from "./evaluation.ts";

/** An evaluation context of OpenFeature or OFREP. */
export type OpenFeatureContext = { readonly [key: string]: unknown };

const TEXTS = ["email", "role", "organizationId", "anonymousId"] as const;
const OBJECTS = ["device", "geo"] as const;
const CONTEXT_FIELDS: ReadonlySet<string> = new Set([
  ...TEXTS,
  ...OBJECTS,
  "targetingKey",
  "userId",
  "attributes",
]);

/**
 * Converts an OpenFeature context: `targetingKey` becomes `userId`, the fields of our context keep their names, and all
 * others become attributes. `user`, `session`, `organization` and `trusted` are fields only if they are objects. Values of the wrong type are passed on, so that the server rejects them.
 */
export function claimOf(context: OpenFeatureContext): ClaimedContext {
  const { targetingKey, userId = targetingKey, attributes } = context;
  const claim: Record<string, unknown> = {};
  if (userId !== undefined) claim["userId"] = userId;
  for (const field of [...TEXTS, ...OBJECTS]) {
    if (context[field] !== undefined) claim[field] = plain(context[field]);
  }
  const claimedRoots = new Set<string>();
  for (const root of TRUSTED_ROOTS) {
    if (!isPlainObject(context[root])) continue;
    claim[root] = plain(context[root]);
    claimedRoots.add(root);
  }
  const others = Object.entries(context).filter(
    ([key, value]) => !CONTEXT_FIELDS.has(key) && !claimedRoots.has(key) && value !== undefined,
  );
  const all = [...entriesOf(attributes), ...others].map(([key, value]) => [key, plain(value)] as const);
  if (all.length > 0) claim["attributes"] = Object.fromEntries(all);
  return claim;
}

function entriesOf(attributes: unknown): [string, unknown][] {
  return typeof attributes === "object" && attributes !== null ? Object.entries(attributes) : [];
}

/** OpenFeature contexts may contain dates at any depth; JSON turns them into strings. */
function plain(value: unknown): JsonValue {
  return JSON.parse(JSON.stringify(value) ?? "null");
}

export type OpenFeatureReason = "TARGETING_MATCH" | "SPLIT" | "DEFAULT" | "DISABLED" | "ERROR";

export const OPENFEATURE_REASONS: Readonly<Record<EvaluationReason, OpenFeatureReason>> = {
  rule_match: "TARGETING_MATCH",
  override: "TARGETING_MATCH",
  percentage_rollout: "SPLIT",
  default: "DEFAULT",
  disabled: "DISABLED",
  not_found: "ERROR",
};
