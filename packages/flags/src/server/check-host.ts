/** Checks at the start that the host has what the options need. */
import { env } from "@better-auth/core/env";
import { hasOrganizations } from "@halyard/sessions/plugin";
import { HELP, mistake, withHelp } from "./help.ts";
import type { HostContext } from "./http/host-request.ts";
import type { FeatureFlagsOptions } from "./options.ts";
import { checkTrustedFields } from "./trusted/check-options.ts";

const CLAIMED_IDENTITY =
  'The option identity is not set, so a visitor who is not signed in may claim any userId and reads the values of that user. Add identity: "verified" to featureFlags(), or identity: "claimed" to keep it.';

/** Throws for a missing plugin or field. Logs an error if flags can be read, but not changed. */
export function checkHost(
  context: HostContext,
  { multiTenant, trusted, identity }: FeatureFlagsOptions,
): void {
  try {
    if (multiTenant === true && !hasOrganizations(context)) {
      throw mistake(
        "multiTenant needs Better Auth's organization plugin. Add organization() to the plugins, or remove multiTenant.",
      );
    }
    if (trusted !== undefined) checkTrustedFields(context, trusted);
  } catch (error) {
    // Better Auth reports an error of the start to requests only, if anything else awaits the start.
    if (error instanceof Error) context.logger.error(error.message);
    throw error;
  }
  if (context.adapter.options?.adapterConfig.transaction === false) {
    context.logger.error(
      `[feature-flags] Flags can be read, but not changed: the database adapter runs no transactions. Set transaction: true in the options of the Drizzle or Prisma adapter, or beside { db, type }. (${HELP}#storage_error)`,
    );
  }
  if (identity === undefined && env["NODE_ENV"] === "production") {
    context.logger.warn(withHelp(CLAIMED_IDENTITY));
  }
}
