/** Who a flag is evaluated for: the session's user, or what the caller claims where nobody is signed in. */
import type { EvaluationContext } from "../engine/evaluate.ts";
import { FeatureFlagError } from "../model/errors.ts";
import type { ClaimedContext } from "../model/evaluation.ts";
import { requireAction } from "./access.ts";
import { type Call, isServerCall } from "./call.ts";
import { readUser } from "./session.ts";

const FIELDS = ["userId", "email", "role"] as const;

export async function resolveContext(call: Call, claimed: ClaimedContext = {}): Promise<EvaluationContext> {
  const user = isServerCall(call) ? undefined : await readUser(call);
  if (user === undefined) return present(claimed);
  const own = present({ userId: user.id, email: user.email, role: user.role });
  const foreign = FIELDS.filter((field) => claimed[field] !== undefined && claimed[field] !== own[field]);
  if (foreign.length === 0) return own;
  return await claimForeign(call, claimed, foreign);
}

/** Evaluating as somebody else takes all of the claim and nothing of the caller. */
async function claimForeign(
  call: Call,
  claimed: ClaimedContext,
  foreign: readonly string[],
): Promise<EvaluationContext> {
  try {
    await requireAction(call, "evaluate-as");
  } catch (error) {
    if (!(error instanceof FeatureFlagError) || error.code !== "PERMISSION_DENIED") throw error;
    throw new FeatureFlagError(
      "PERMISSION_DENIED",
      `The context claims to be somebody else than the signed-in user. Leave out ${foreign.join(", ")}.`,
      { status: error.status, details: { fields: foreign }, cause: error },
    );
  }
  return present(claimed);
}

function present(context: ClaimedContext): EvaluationContext {
  const { userId, email, role } = context;
  return {
    ...(userId !== undefined && { userId }),
    ...(email !== undefined && { email }),
    ...(role !== undefined && { role }),
  };
}
