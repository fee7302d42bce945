/** `verifyFeatureFlagAudit`: checks that an audit log is complete and unchanged. */
import type { AuditHead, AuditVerdict } from "../model/audit.ts";
import { NO_TENANT } from "../model/flag.ts";
import type { HostContext } from "./http/host-request.ts";
import { type AuthWithFlags, findService } from "./plugin.ts";

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
  // The type of an auth instance does not declare its context as plugins see it.
  const context = (await auth.$context) as HostContext;
  for (const plugin of auth.options.plugins ?? []) {
    const service = findService(plugin)?.({ context });
    if (service === undefined) continue;
    if (organizationId !== undefined && service.options.multiTenant !== true) {
      throw new TypeError(
        "verifyFeatureFlagAudit: organizationId needs the option multiTenant. Leave it out to check the only log.",
      );
    }
    return service.store.verifyAudit(organizationId ?? NO_TENANT, head);
  }
  throw new TypeError(
    "verifyFeatureFlagAudit: the auth instance has no featureFlags plugin. Add it to its plugins.",
  );
}
