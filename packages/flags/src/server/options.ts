/** What a host can set. */
import type { FlagDeclarations } from "../model/declared.ts";
import type { FlagVisibility } from "../model/flag.ts";
import type { FeatureFlagTableNames } from "../model/tables.ts";
import type { EventSink } from "../store/events/sink.ts";
import type { PostgresPool } from "../store/postgres-pool.ts";
import type { FeatureFlagsRateLimit } from "./limits/options.ts";
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
   * The flags that `defineFlags` declared. A second after flags are first asked for they are compared with those that are
   * stored, and a warning names each that differs.
   */
  flags?: FlagDeclarations | undefined;
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
  events?:
    | {
        /** Days that events and exposures are kept; hourly counts are kept for 400. Defaults to 90. */
        retentionDays?: number | undefined;
        /** Events that may wait to be written, before more are answered with 429. Defaults to 10,000. */
        maxQueued?: number | undefined;
        /** Where events go onwards, at least once and in order; `webhookSink` is built in. */
        sinks?: readonly EventSink[] | undefined;
      }
    | undefined;
  /**
   * How often, in ms, this process asks the database whether flags have changed elsewhere. Defaults to 500. 0 turns
   * it off: flags are then checked when they are asked for and the last check is over a second old.
   */
  pollMs?: number | undefined;
  /**
   * A `Pool` of the package `pg` on the database that the flags are in. Events are then written in groups, twenty times
   * as many a second, and nodes hear of each other's changes at once. Needs the tables of
   * `featureFlagsPostgresMigration`.
   *
   * ```ts
   * import { featureFlags } from "@halyard/flags";
   * import { betterAuth } from "better-auth";
   * import { Pool } from "pg";
   *
   * const pool = new Pool();
   * const auth = betterAuth({ database: pool, plugins: [featureFlags({ postgres: pool })] });
   * ```
   */
  postgres?: PostgresPool | undefined;
  /**
   * Rate limits of requests over HTTP. They are on where Better Auth's own are: in production, elsewhere when its
   * `rateLimit.enabled` is set. `false` turns them off.
   *
   * ```ts
   * import { featureFlags } from "@halyard/flags";
   *
   * featureFlags({ rateLimit: { rules: { evaluate: { max: 500, windowSeconds: 60 } } } });
   * ```
   */
  rateLimit?: FeatureFlagsRateLimit | undefined;
  /**
   * For `withFeatureFlags`: `false` leaves all requests to Better Auth. `force` answers even where the host's hooks, or
   * another plugin, could change an answer; they then do not run for evaluations and events.
   */
  fastPath?: "force" | false | undefined;
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
