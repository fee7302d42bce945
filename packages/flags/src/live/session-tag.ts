/** Tags: short names for everything that a session's values depend on, except the flags. */
import type { EvaluationContext } from "../engine/definition.ts";
import { canonicalJson } from "../model/canonical-json.ts";
import { createSigner } from "../server/evaluation/hmac.ts";

const PURPOSE = "halyard feature flags: live tags 1";
/** 96 bits. */
const LENGTH = 12;

export type TagOf = (tenant: string, context: EvaluationContext) => string;

/**
 * Two sessions with the same tag get the same values from the same revisions. Keyed, because the contexts have trusted
 * attributes, which a client could otherwise find by guessing. The same in every process with the same secret.
 */
export function createTags(secret: string): TagOf {
  const sign = createSigner(createSigner(new TextEncoder().encode(secret))(PURPOSE));
  return (tenant, context) => {
    const bytes = sign(canonicalJson([tenant, context, null]));
    return btoa(String.fromCharCode(...bytes.subarray(0, LENGTH)));
  };
}
