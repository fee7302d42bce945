/** Evaluates one flag of a set for a context, as the server does. */
import type { Evaluation, EvaluationContext, TrustedRoot } from "../../engine/definition.ts";
import { TRUSTED_ROOTS } from "../../engine/path.ts";
import type { ClaimedContext } from "../../model/evaluation.ts";
import type { Terms } from "../definitions/protocol.ts";
import type { DefinitionSet, SetFlag } from "./definition-set.ts";

/** Why a flag was not evaluated. */
export interface NotEvaluated {
  readonly problem: string;
}

/**
 * Undefined if the flag does not exist. `missing`: trusted attributes that its rules read, that the context does not
 * have and that only the server can look up; the rules that read them are skipped.
 */
export function evaluateIn(
  set: DefinitionSet,
  key: string,
  claimed: ClaimedContext,
  nowMs: number,
): { readonly evaluation: Evaluation; readonly missing: readonly TrustedRoot[] } | NotEvaluated | undefined {
  const { terms, flags, overrides } = set;
  const { organizationId = terms.organizationId } = claimed;
  if (terms.multiTenant && (organizationId || undefined) !== terms.organizationId) {
    return {
      problem: `The context has the organization "${organizationId}", but this process has the flags of ${terms.organizationId === undefined ? "no organization" : `"${terms.organizationId}"`}. Create remote flags for each organization.`,
    };
  }
  const flag = flags.get(key);
  if (flag === undefined) return undefined;
  const missing = missingRoots(flag, claimed, terms);
  const context = contextOf(claimed, organizationId, terms.environment, flag, missing);
  const { userId } = context;
  const override = userId === undefined ? undefined : overrides.get(key)?.get(userId);
  const isValid = override !== undefined && nowMs < override.expiresAtMs;
  return { evaluation: flag.compiled.evaluate(context, isValid ? override : undefined), missing };
}

const NONE: readonly TrustedRoot[] = [];

function missingRoots(
  { compiled }: SetFlag,
  claimed: ClaimedContext,
  { trusted }: Terms,
): readonly TrustedRoot[] {
  if (!trusted || compiled.trustedRoots.size === 0) return NONE;
  return TRUSTED_ROOTS.filter((root) => compiled.trustedRoots.has(root) && claimed[root] === undefined);
}

/** The context without undefined fields. Trusted attributes only if the flag reads them, as on the server. */
function contextOf(
  claimed: ClaimedContext,
  organizationId: string | undefined,
  environment: string | undefined,
  { compiled: { trustedRoots } }: SetFlag,
  missing: readonly TrustedRoot[],
): EvaluationContext {
  const { userId, email, role, anonymousId, attributes, device, geo } = claimed;
  const { user, session, organization, trusted } = claimed;
  return {
    ...(userId !== undefined && { userId }),
    ...(email !== undefined && { email }),
    ...(role !== undefined && { role }),
    ...(organizationId && { organizationId }),
    ...(anonymousId !== undefined && { anonymousId }),
    ...(device !== undefined && { device }),
    ...(geo !== undefined && { geo }),
    ...(attributes !== undefined && { attributes }),
    ...(environment !== undefined && { environment }),
    ...(user !== undefined && trustedRoots.has("user") && { user }),
    ...(session !== undefined && trustedRoots.has("session") && { session }),
    ...(organization !== undefined && trustedRoots.has("organization") && { organization }),
    ...(trusted !== undefined && trustedRoots.has("trusted") && { trusted }),
    ...(missing.length > 0 && { unreadable: missing }),
  };
}
