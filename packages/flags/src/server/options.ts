/** The options of `featureFlags()`. */
import type { AuditHead } from "../model/audit.ts";
import type { FlagDeclarations } from "../model/declared.ts";
import type { FlagVisibility } from "../model/flag.ts";
import type { OnlineSource } from "../model/online.ts";
import type { FeatureFlagTableNames } from "../model/tables.ts";
import type { TrustedOptions } from "../model/trusted.ts";
import type { EventSink } from "../store/events/sinks/sink.ts";
import type { PostgresPool } from "../store/postgres/pool.ts";
import type { FlagAction } from "./access/actions.ts";
import type { FeatureFlagsBus } from "./bus.ts";
import type { FeatureFlagsRateLimit } from "./limits/options.ts";

/** The caller of an action, and the organization whose flags it concerns. */
export type PermissionContext = {
  /** The signed-in user, or the owner of the API key. Absent for a key of an organization or of a service. */
  readonly user?: { readonly id: string; readonly email: string; readonly role?: string };
  /** The API key of the request, with the actions it was given. */
  readonly key?: { readonly id: string; readonly actions: readonly string[] };
  /** With `multiTenant`: the organization the flags belong to. Absent for global flags. */
  readonly organizationId?: string;
  /** The headers of the request. */
  readonly headers: Headers;
};

/** The options of `featureFlags()`. An unknown name or an impossible value throws a `TypeError` at start. */
export type FeatureFlagsOptions<Flags extends FlagDeclarations = FlagDeclarations> = {
  /**
   * The flags declared with `defineFlags`. They type `auth.api.evaluateFeatureFlag`, and a write whose value is not as
   * declared is refused. One second after the first request they are compared with the stored flags, and a warning
   * names each difference. Default: any flags.
   */
  flags?: Flags | undefined;
  /**
   * Gives every organization its own flags, which other organizations cannot see. An organization's flag replaces a
   * global one with the same key only if that one is `tenantOverridable`. Needs Better Auth's organization plugin. Default
   * `false`: one set of flags, and `organizationId` is only a label.
   */
  multiTenant?: boolean | undefined;
  /**
   * Whether an anonymous visitor may claim a `userId` or an `organizationId` in the context. `claimed` (default): the
   * claim is used, so a visitor who knows a user's id reads what that user gets. `verified`: the request is answered
   * with 401, as a claimed `email`, `role` or `attributes.organizationRole` always is. In production a warning asks for
   * one of them.
   */
  identity?: "claimed" | "verified" | undefined;
  /**
   * What the application knows about users, sessions and organizations, for rules: `user.plan`, `organization.tier`,
   * `trusted.seats`. Callers cannot claim these attributes. The start fails if a field does not exist, or if users may
   * write it. Default: none.
   *
   * @example
   * ```ts
   * import { featureFlags } from "@halyard/flags";
   * import { betterAuth } from "better-auth";
   *
   * const auth = betterAuth({
   *   user: { additionalFields: { plan: { type: "string", required: false, input: false } } },
   *   plugins: [featureFlags({ trusted: { user: ["plan"] } })],
   * });
   * ```
   */
  trusted?: TrustedOptions | undefined;
  /** Environments (deployment rings), such as `beta`. */
  environments?:
    | {
        /** The environment of requests that name none. Default: none. */
        default?: string | undefined;
        /** The environments that users and anonymous visitors may request. Default: any. Server calls and API keys that server code made may request any. */
        claimable?: readonly string[] | undefined;
        /**
         * All environments. A write that adds another name to a flag or a rule is refused, and names of `default`,
         * `claimable` and `protected` must be in it. Stored names stay in use. Default: any name.
         */
        list?: readonly string[] | undefined;
        /**
         * Environments that the console marks wherever a change concerns them. Needs `list`. The server accepts the same
         * changes as elsewhere. Default: none.
         */
        protected?: readonly string[] | undefined;
      }
    | undefined;
  /** The visibility of flags created without one. Default `public`. */
  defaultVisibility?: FlagVisibility | undefined;
  /** What the server adds to the context of an evaluation. */
  context?:
    | {
        /**
         * Fills `device` and `geo` from request headers if the caller does not send them. Use it only behind a proxy
         * that sets these headers. Default `false`.
         */
        collect?: boolean | undefined;
      }
    | undefined;
  /**
   * Decides what a signed-in user or an API key may do, instead of roles and access control. A key never does more than its
   * actions. It is not called for anonymous visitors, who have no permissions, nor for server calls, which have all.
   *
   * @example
   * ```ts
   * import { featureFlags } from "@halyard/flags";
   *
   * featureFlags({ permission: ({ user }, action) => action === "read" || user?.email === "ops@example.com" });
   * ```
   */
  permission?: ((context: PermissionContext, action: FlagAction) => boolean | Promise<boolean>) | undefined;
  /** Analytics events. */
  events?:
    | {
        /** Days until events and exposures are deleted. Default 90. Hourly counts are kept for 400 days. */
        retentionDays?: number | undefined;
        /** Destinations that get every event at least once and in order, such as `webhookSink()`. Default: none. */
        sinks?: readonly EventSink[] | undefined;
      }
    | undefined;
  /**
   * Whether this process checks the database every 500 ms for changes by other processes. Default `true`. With `false`,
   * an evaluation checks if the last check is more than 1 s ago.
   */
  poll?: boolean | undefined;
  /**
   * A `Pool` of the package `pg` for the database with the flags. Events are then written in groups, which raises the
   * throughput about twentyfold, and other processes are notified of changes immediately. Needs the tables of
   * `featureFlagsPostgresMigration`. Default: Better Auth's adapter writes events, and other processes poll.
   *
   * @example
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
   * Announces changes to the other processes of the application immediately: `postgresBus(pool)`, `redisBus(client)`, or a
   * pub/sub of `@halyard/wire`. Every process needs the same one. Default: with `postgres` its own bus, otherwise
   * none, and other processes find changes by polling.
   *
   * @example
   * ```ts
   * import { featureFlags } from "@halyard/flags";
   * import { redisBus } from "@halyard/flags/redis";
   * import { createClient } from "redis";
   *
   * const client = await createClient().on("error", console.error).connect();
   * featureFlags({ bus: redisBus(client) });
   * ```
   */
  bus?: FeatureFlagsBus | undefined;
  /**
   * Rate limits for requests over HTTP. They are on if Better Auth's own limits are: in production, or if its
   * `rateLimit.enabled` is set. `false` turns them off.
   *
   * @example
   * ```ts
   * import { featureFlags } from "@halyard/flags";
   *
   * featureFlags({ rateLimit: { rules: { evaluate: { max: 500, windowSeconds: 60 } } } });
   * ```
   */
  rateLimit?: FeatureFlagsRateLimit | undefined;
  /**
   * For `withFeatureFlags`. Default: the fast path answers unless hooks or another plugin could change the response.
   * `false`: Better Auth answers all requests. `force`: the fast path always answers, and hooks and other plugins do not
   * run for evaluations and events.
   */
  fastPath?: "force" | false | undefined;
  /**
   * Which of the given users are online now, for `planFeatureFlags`. Called with at most 1,000 ids; deadline 1 s. Default:
   * those that are subscribed to `liveFlags()` of this process; unknown without it.
   *
   * @example
   * ```ts
   * import { featureFlags } from "@halyard/flags";
   *
   * const connected = new Set<string>();
   * featureFlags({ online: (userIds) => userIds.filter((id) => connected.has(id)) });
   * ```
   */
  online?: OnlineSource | undefined;
  /**
   * Called after each committed change with the new head of the audit log, so that it can be kept outside the database
   * for `verifyFeatureFlagAudit`. The change waits for a returned promise, at most 5 s. An error is logged and does not
   * fail the change. Default: none.
   *
   * @example
   * ```ts
   * import { featureFlags } from "@halyard/flags";
   *
   * featureFlags({ onAuditHead: (head) => console.log("audit head", JSON.stringify(head)) });
   * ```
   */
  onAuditHead?: ((head: AuditHead) => void | Promise<void>) | undefined;
  /**
   * Other names for the plugin's tables and columns. Default: the names of the models, such as `featureFlag`.
   *
   * @example
   * ```ts
   * import { featureFlags } from "@halyard/flags";
   *
   * featureFlags({ schema: { featureFlag: { modelName: "feature_flag", fields: { createdAt: "created_at" } } } });
   * ```
   */
  schema?: FeatureFlagTableNames | undefined;
};
