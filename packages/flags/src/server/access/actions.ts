/** The actions that access control can grant on feature flags. */

import type { FlagAction } from "../../model/action.ts";

export type { FlagAction };

/** What an operation asks of its caller. `public` needs no permission. */
export type OperationAction = FlagAction | "public";

/**
 * The statements to merge into `createAccessControl`, so that roles can grant actions on flags.
 *
 * ```ts
 * import { featureFlagStatements } from "@halyard/flags";
 * import { createAccessControl } from "better-auth/plugins/access";
 *
 * const ac = createAccessControl(featureFlagStatements);
 * const support = ac.newRole({ featureFlag: ["read", "override"] });
 * ```
 */
export const featureFlagStatements: { readonly featureFlag: readonly FlagAction[] } = {
  featureFlag: ["read", "create", "update", "delete", "override", "audit", "evaluate-as", "keys"],
};
