/** `verifyFeatureFlagAudit`: checks that an audit log is complete and unchanged. */
import type { AuditHead, AuditVerdict } from "../model/audit.ts";
import { NO_TENANT } from "../model/flag.ts";
import type { HostContext } from "./http/host-request.ts";
import type { AuthWithFlags } from "./plugin.ts";
import { portOf } from "./port.ts";

/** The options of `verifyFeatureFlagAudit`. */
export type VerifyAuditOptions = {
  /** With `multiTenant`: the organization whose log is checked. Default: the log of the global flags. */
  organizationId?: string | undefined;
  /** A head that `onAuditHead` reported earlier. The log must still contain it. Default: only the stored head counts. */
  head?: Pick<AuditHead, "revision" | "hash"> | undefined;
};

/**
 * Reads a whole audit log and checks that every revision has its entry, that no entry was changed, and that the log ends
 * at the head in the table `featureFlagRevision`. It finds a removed entry at the beginning, in the middle and at the end.
 *
 * ```ts
 * import { featureFlags, verifyFeatureFlagAudit } from "@halyard/flags";
 * import { betterAuth } from "better-auth";
 *
 * const auth = betterAuth({ plugins: [featureFlags()] });
 * const { ok, problem } = await verifyFeatureFlagAudit(auth);
 * if (!ok) throw new Error(`The audit log was changed: ${problem}`);
 * ```
 */
export async function verifyFeatureFlagAudit(
  auth: AuthWithFlags,
  { organizationId, head }: VerifyAuditOptions = {},
): Promise<AuditVerdict> {
  const { setup, verifyAudit } = portOf(auth, "verifyFeatureFlagAudit");
  if (organizationId !== undefined && setup.options.multiTenant !== true) {
    throw new TypeError(
      "verifyFeatureFlagAudit: organizationId needs the option multiTenant. Leave it out to check the only log.",
    );
  }
  // The type of an auth instance does not declare its context as plugins see it.
  return verifyAudit((await auth.$context) as HostContext, organizationId ?? NO_TENANT, head);
}
