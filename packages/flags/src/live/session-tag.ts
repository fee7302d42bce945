/** Tags: short names for everything that a session's values depend on, except the flags. */
import { canonicalJson } from "../model/canonical-json.ts";
import { createSigner } from "../server/evaluation/hmac.ts";
import type { ContextPair } from "../server/evaluation/trusted-subject.ts";

const PURPOSE = "halyard feature flags: live tags 1";
/** 96 bits. */
const LENGTH = 12;

export type TagOf = (tenant: string, contexts: ContextPair) => string;

/**
 * Two sessions with the same tag get the same values from the same revisions. Keyed, because the contexts have trusted
 * attributes, which a client could otherwise find by guessing. The same in every process with the same secret.
 */
export function createTags(secret: string): TagOf {
  const sign = createSigner(createSigner(new TextEncoder().encode(secret))(PURPOSE));
  return (tenant, { context, globalContext }) => {
    const bytes = sign(canonicalJson([tenant, context, globalContext === context ? null : globalContext]));
    return btoa(String.fromCharCode(...bytes.subarray(0, LENGTH)));
  };
}
