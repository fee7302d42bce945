/** What a host can set. */
import type { FlagVisibility } from "../model/flag.ts";
import type { FeatureFlagTableNames } from "../model/tables.ts";
import type { FlagAction } from "./routes.ts";

/** Who asks for an action, and on whose flags. */
export type PermissionContext = {
  /** The signed-in user, unless a key makes the call. */
  readonly user?: { readonly id: string; readonly email: string; readonly role?: string };
  /** The server key that makes the call, with the actions it was given. */
  readonly key?: { readonly id: string; readonly actions: readonly string[] };
  /** Where `multiTenant` is on: the organization the flags belong to; absent for those of all organizations. */
  readonly organizationId?: string;
  readonly headers: Headers;
};

export type FeatureFlagsOptions = {
  /**
   * Gives every organization flags of its own, which nobody else sees. Needs Better Auth's organization plugin.
   * Defaults to `false`: one set of flags, and `organizationId` is a label.
   */
  multiTenant?: boolean | undefined;
  /**
   * Whether a caller without a session may say who it is (`claimed`, the default), or such a claim over HTTP is
   * answered with 401 (`verified`).
   */
  identity?: "claimed" | "verified" | undefined;
  environments?:
    | {
        /** The environment of evaluations that name none. */
        default?: string | undefined;
        /** The only environments that callers other than server code and keys may ask for. Absent: any. */
        claimable?: readonly string[] | undefined;
      }
    | undefined;
  /** The visibility of flags that are made without one. Defaults to `public`. */
  defaultVisibility?: FlagVisibility | undefined;
  context?:
    | {
        /**
         * Fills `device` and `geo` from request headers where the caller gives none. The headers are as trustworthy
         * as the proxy that sets them. Defaults to `false`.
         */
        collect?: boolean | undefined;
      }
    | undefined;
  /**
   * Decides what a signed-in user or a key may do, in place of roles and access control. It is never asked for
   * anonymous callers, who may administer nothing, nor for server code, which may do all.
   *
   * ```ts
   * import { featureFlags } from "@halyard/flags";
   *
   * featureFlags({ permission: ({ user }, action) => action === "read" || user?.email === "ops@example.com" });
   * ```
   */
  permission?: ((context: PermissionContext, action: FlagAction) => boolean | Promise<boolean>) | undefined;
  /**
   * How often, in ms, this process asks the database whether flags have changed elsewhere. Defaults to 500. 0 turns
   * it off: flags are then checked when they are asked for and the last check is over a second old.
   */
  pollMs?: number | undefined;
  /**
   * Other names for the plugin's tables and columns.
   *
   * ```ts
   * import { featureFlags } from "@halyard/flags";
   *
   * featureFlags({ schema: { featureFlag: { modelName: "feature_flag", fields: { createdAt: "created_at" } } } });
   * ```
   */
  schema?: FeatureFlagTableNames | undefined;
};
