/** OpenFeature's words for ours: its evaluation context, its reasons, its error codes. */
import type { EvaluationReason } from "../engine/definition.ts";
import type { JsonValue } from "../engine/json.ts";
import type { ClaimedContext } from "./evaluation.ts";

/** As OpenFeature and OFREP know it. */
export type OpenFeatureContext = { readonly [key: string]: unknown };

const TEXTS = ["email", "role", "organizationId", "anonymousId"] as const;
const OBJECTS = ["device", "geo"] as const;
const OURS: ReadonlySet<string> = new Set([...TEXTS, ...OBJECTS, "targetingKey", "userId", "attributes"]);

/**
 * The same as our context: `targetingKey` is the user's id, our own fields keep their names, the rest are attributes.
 * What is not as we expect is passed on, for the service to refuse.
 */
export function claimOf(context: OpenFeatureContext): ClaimedContext {
  const { targetingKey, userId = targetingKey, attributes } = context;
  const claim: Record<string, unknown> = {};
  if (userId !== undefined) claim["userId"] = userId;
  for (const field of [...TEXTS, ...OBJECTS]) {
    if (context[field] !== undefined) claim[field] = plain(context[field]);
  }
  const others = Object.entries(context).filter(([key, value]) => !OURS.has(key) && value !== undefined);
  const all = [...entriesOf(attributes), ...others].map(([key, value]) => [key, plain(value)] as const);
  if (all.length > 0) claim["attributes"] = Object.fromEntries(all);
  return claim;
}

function entriesOf(attributes: unknown): [string, unknown][] {
  return typeof attributes === "object" && attributes !== null ? Object.entries(attributes) : [];
}

/** OpenFeature contexts may hold dates, at any depth. */
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
