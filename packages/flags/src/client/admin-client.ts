/** Implements the admin helpers, `authClient.featureFlags.admin.*`, as a separate plugin, so that other pages do not load it. */
import type { AdminAnswers } from "../model/admin-answers.ts";
import type { AuditEntry } from "../model/audit.ts";
import type { FlagDeclarations } from "../model/declared.ts";
import type {
  DeclarationOf,
  DeclaredFields,
  DeclaredKey,
  DeclaredName,
  NamedFields,
} from "../model/declared-input.ts";
import type { ExplainFeatureFlagInput, FlagExplanation } from "../model/evaluation.ts";
import type {
  CreateFeatureFlagInput,
  FeatureFlag,
  FeatureFlagPatch,
  ListedFeatureFlag,
} from "../model/flag.ts";
import type {
  ListFeatureFlagAuditEntriesQuery,
  ListFeatureFlagOverridesQuery,
  ListFeatureFlagSegmentsQuery,
  ListFeatureFlagsQuery,
} from "../model/list-query.ts";
import type { FlagOverride, FlagOverrideInput } from "../model/override.ts";
import type { Page } from "../model/page.ts";
import type {
  AppliedFeatureFlagPlan,
  FeatureFlagPlan,
  FeatureFlagPreview,
  PlanFeatureFlagsInput,
  RevertedAuditEntry,
  RevertedFeatureFlagChange,
} from "../model/plan.ts";
import type { FlagRule, FlagRuleInput, FlagRulePatch } from "../model/rule.ts";
import type { FlagSegment, FlagSegmentInput, FlagSegmentPatch } from "../model/segment.ts";
import type { FlagStats, FlagUsage } from "../model/stats.ts";
import type { FeatureFlagStatsQuery, FeatureFlagUsageQuery } from "../model/stats-query.ts";
import type { WithWarnings } from "../model/warning.ts";
import { type Revived, reviveDates } from "./dates.ts";
import {
  type AuthClientOptions,
  type AuthFetch,
  type ClientError,
  type ClientResult,
  createTransport,
  type RequestOptions,
} from "./transport.ts";

type Result<Data> = Promise<ClientResult<Data>>;

/** Names the organization of a flag or segment. */
export type OrganizationOptions = {
  /** With `multiTenant`: the organization of a flag or segment that is named by its key. Default: the active one. */
  organizationId?: string | undefined;
};

/** The options of a change. */
export type ChangeOptions = {
  /** Why, for the audit log. At most 255 characters. */
  note?: string | undefined;
};

/** The options of a change or deletion of an entity that exists. */
export type VersionOptions = OrganizationOptions &
  ChangeOptions & {
    /** The expected version. If the stored version differs, the server responds 409 and changes nothing. */
    version?: number | undefined;
  };

type Series<Stats extends { series: unknown }> = Omit<Stats, "series"> & {
  series: { at: Date; evaluations: number }[];
};
/** The statistics of a flag, with dates. */
export type ClientFlagStats = Series<FlagStats>;
/** The statistics of all flags, with dates. */
export type ClientFlagUsage = Series<FlagUsage>;
/** A plan, with a date. */
export type ClientFeatureFlagPlan = Omit<FeatureFlagPlan, "expiresAt"> & {
  /** Until when the plan can be applied. */
  readonly expiresAt: Date;
};

/** A page of flags. */
export type FlagPage = {
  /** The flags of this page. */
  flags: ListedFeatureFlag[];
  /** Whether there is a next page, and its cursor. */
  page: Page;
};
/** A page of overrides. */
export type OverridePage = {
  /** The overrides of this page. */
  overrides: FlagOverride[];
  /** Whether there is a next page, and its cursor. */
  page: Page;
};
/** A page of segments. */
export type SegmentPage = {
  /** The segments of this page. */
  segments: FlagSegment[];
  /** Whether there is a next page, and its cursor. */
  page: Page;
};

/** Helpers for flags. Every `id` may be the key. */
export interface FlagHelpers<Flags extends FlagDeclarations = FlagDeclarations> {
  /** Creates a flag. `data.warnings` says whether turning it off changes nothing. Needs `create`. */
  create<Key extends string>(
    fields: NamedFields<CreateFeatureFlagInput, "key", DeclaredKey<Flags, Key>, DeclarationOf<Flags, Key>>,
    options?: ChangeOptions,
  ): Result<WithWarnings<FeatureFlag>>;
  /** Lists flags, in pages. Needs `read`. */
  list(query?: ListFeatureFlagsQuery): Result<FlagPage>;
  /** Reads a flag. Needs `read`. */
  get<Id extends string>(id: DeclaredName<Flags, Id>, options?: OrganizationOptions): Result<FeatureFlag>;
  /**
   * Changes the fields that are given; `null` clears an optional one. `data.warnings` says whether turning the flag off
   * changes nothing. Needs `update`.
   */
  update<Id extends string>(
    id: DeclaredName<Flags, Id>,
    fields: DeclaredFields<FeatureFlagPatch, DeclarationOf<Flags, Id>, null>,
    options?: VersionOptions,
  ): Result<WithWarnings<FeatureFlag>>;
  /** Deletes a flag with its rules and overrides. Needs `delete`. */
  delete<Id extends string>(id: DeclaredName<Flags, Id>, options?: VersionOptions): Result<null>;
  /** Returns each step that led to the flag's value. Needs `read`. */
  explain<Id extends string>(
    id: DeclaredName<Flags, Id>,
    input?: ExplainFeatureFlagInput,
    options?: OrganizationOptions,
  ): Result<FlagExplanation>;
}

/** Helpers for the rules of a flag. Every `flagId` may be the flag's key. */
export interface RuleHelpers<Flags extends FlagDeclarations = FlagDeclarations> {
  /** Creates a rule. Needs `update`. */
  create<Id extends string>(
    rule: DeclaredFields<FlagRuleInput, DeclarationOf<Flags, Id>> & { flagId: DeclaredName<Flags, Id> },
    options?: OrganizationOptions & ChangeOptions,
  ): Result<WithWarnings<FlagRule>>;
  /** Lists a flag's rules in the order in which they are evaluated. Needs `read`. */
  list(flagId: string, options?: OrganizationOptions): Result<{ rules: FlagRule[] }>;
  /** Changes the fields that are given; `null` clears an optional one. Needs `update`. */
  update<Id extends string>(
    flagId: DeclaredName<Flags, Id>,
    ruleId: string,
    fields: DeclaredFields<FlagRulePatch, DeclarationOf<Flags, Id>, null>,
    options?: VersionOptions,
  ): Result<WithWarnings<FlagRule>>;
  /** Deletes a rule. Needs `update`. */
  delete(flagId: string, ruleId: string, options?: VersionOptions): Result<null>;
}

/** Helpers for overrides. `flagId` may be the flag's key. */
export interface OverrideHelpers<Flags extends FlagDeclarations = FlagDeclarations> {
  /** Sets a flag's value for one user. `data.warnings` says whether it probably never applies. Needs `override`. */
  create<Id extends string>(
    override: NamedFields<FlagOverrideInput, "flagId", DeclaredName<Flags, Id>, DeclarationOf<Flags, Id>>,
    options?: OrganizationOptions & ChangeOptions,
  ): Result<WithWarnings<FlagOverride>>;
  /** Lists overrides, in pages. Needs `read`. */
  list(query?: ListFeatureFlagOverridesQuery): Result<OverridePage>;
  /** Deletes an override. Needs `override`. */
  delete(id: string, options?: ChangeOptions): Result<null>;
}

/** Helpers for segments. Every `id` may be the key. */
export interface SegmentHelpers {
  /** Creates a segment. Needs `update`. */
  create(segment: FlagSegmentInput, options?: ChangeOptions): Result<WithWarnings<FlagSegment>>;
  /** Lists segments, in pages. Needs `read`. */
  list(query?: ListFeatureFlagSegmentsQuery): Result<SegmentPage>;
  /** Reads a segment. Needs `read`. */
  get(id: string, options?: OrganizationOptions): Result<FlagSegment>;
  /** Changes a segment, and with it every rule that names it. Needs `update`. */
  update(id: string, fields: FlagSegmentPatch, options?: VersionOptions): Result<WithWarnings<FlagSegment>>;
  /** Deletes a segment that no rule uses. Needs `update`. */
  delete(id: string, options?: VersionOptions): Result<null>;
}

/** Helpers for statistics. */
export interface AnalyticsHelpers {
  /** The statistics of one flag. */
  stats: FlagStatsHelpers;
  /** The statistics of all flags. */
  usage: UsageHelpers;
}

/** The helper for the statistics of one flag. */
export interface FlagStatsHelpers {
  /** How often a flag was evaluated, for how many users, and their events. `flagId` may be the flag's key. Needs `read`. */
  get(flagId: string, query?: FeatureFlagStatsQuery & OrganizationOptions): Result<ClientFlagStats>;
}

/** The helper for the statistics of all flags. */
export interface UsageHelpers {
  /** How much all flags are used, and how many are not. Needs `read`. */
  get(query?: FeatureFlagUsageQuery): Result<ClientFlagUsage>;
}

/** Helpers for the audit log. */
export interface AuditHelpers {
  /** Reads the audit log, newest first. `flagId` may be the key of a flag that exists. Needs `audit`. */
  list(query?: ListFeatureFlagAuditEntriesQuery): Result<{ entries: AuditEntry[] }>;
  /**
   * Makes the inverse change of an entry, with an entry of its own. 409 with the fields if later changes touched them.
   * Needs `audit`, and what the inverse change needs.
   */
  revert(id: string, options?: ChangeOptions): Result<RevertedAuditEntry>;
  /** Makes the inverse of a whole change: all entries with this `changeId`. Needs `audit`, and what the inverse needs. */
  revertChange(changeId: string, options?: ChangeOptions): Result<RevertedFeatureFlagChange>;
}

/** Helpers that show what changes do to users before they are made. */
export interface PlanHelpers {
  /** Evaluates the application's users before and after changes, without making them. Needs what the changes need. */
  create(
    input: Omit<PlanFeatureFlagsInput, "preview">,
    options?: OrganizationOptions,
  ): Result<ClientFeatureFlagPlan>;
  /** The same without an id: nothing is stored. A newer preview of the same caller ends an older one with 409. */
  preview(
    input: Omit<PlanFeatureFlagsInput, "preview">,
    options?: OrganizationOptions,
  ): Result<FeatureFlagPreview>;
  /** Makes the changes of a plan, all or none. 409 if what it touches was changed since. */
  apply(id: string, options?: ChangeOptions): Result<AppliedFeatureFlagPlan>;
}

/** Every helper resolves to Better Auth's `{ data, error }` and never rejects. */
export interface FeatureFlagsAdminActions<Flags extends FlagDeclarations = FlagDeclarations> {
  /** Creates, reads, changes, deletes and explains flags. */
  flags: FlagHelpers<Flags>;
  /** Creates, lists, changes and deletes the rules of a flag. */
  rules: RuleHelpers<Flags>;
  /** Creates, lists and deletes overrides. */
  overrides: OverrideHelpers<Flags>;
  /** Creates, reads, changes and deletes segments. */
  segments: SegmentHelpers;
  /** Reads statistics. */
  analytics: AnalyticsHelpers;
  /** Reads the audit log, and reverts its entries. */
  audit: AuditHelpers;
  /** Plans changes and applies them. */
  plans: PlanHelpers;
}

/** The plugin that `featureFlagsAdminClient` returns. */
export type FeatureFlagsAdminClientPlugin<Flags extends FlagDeclarations = FlagDeclarations> = {
  /** The id of the plugin in Better Auth's client. */
  id: "feature-flags-admin";
  /** Called by Better Auth's client. */
  getActions: (
    $fetch: AuthFetch,
    $store: object,
    options: AuthClientOptions | undefined,
  ) => { featureFlags: { admin: FeatureFlagsAdminActions<Flags> } };
};

/** The options of `featureFlagsAdminClient()`. */
export type FeatureFlagsAdminClientOptions<Flags extends FlagDeclarations = FlagDeclarations> = {
  /** The flags declared with `defineFlags`. They type keys, values and variants. Default: any key and value. */
  flags?: Flags | undefined;
};

const ADMIN = "/feature-flags/admin";

/**
 * The plugin with the admin helpers. Use it together with `featureFlagsClient()`.
 *
 * @example
 * ```ts
 * import { featureFlagsAdminClient } from "@halyard/flags/admin-client";
 * import { featureFlagsClient } from "@halyard/flags/client";
 * import { createAuthClient } from "better-auth/client";
 *
 * const authClient = createAuthClient({ plugins: [featureFlagsClient(), featureFlagsAdminClient()] });
 * const { data, error } = await authClient.featureFlags.admin.flags.list({ prefix: "new-" });
 * if (error === null) console.log(data.flags.map(({ key }) => key));
 * ```
 */
export function featureFlagsAdminClient<const Flags extends FlagDeclarations = FlagDeclarations>(
  _options?: FeatureFlagsAdminClientOptions<Flags>,
): FeatureFlagsAdminClientPlugin<Flags> {
  return {
    id: "feature-flags-admin",
    getActions($fetch, _store, options) {
      const transport = createTransport($fetch, options);

      async function call<M extends Method, Path extends KnownPath<M>>(
        method: M,
        path: Path,
        more: RequestOptions = {},
      ): Result<AnswerOf<M, Path>> {
        const { data, error } = await transport.request<unknown>(ADMIN + path, { ...more, method });
        if (error !== null) return { data: null, error: explainMissingMethod(method, error) };
        return { data: reviveDates(data) as AnswerOf<M, Path>, error };
      }
      const get = <Path extends KnownPath<"GET">>(path: Path, query: object = {}) =>
        call("GET", path, { query });
      const post = <Path extends KnownPath<"POST">>(
        path: Path,
        body: object,
        options?: OrganizationOptions & ChangeOptions,
      ) => call("POST", path, { body, ...requestOf(options) });
      const patch = <Path extends KnownPath<"PATCH">>(path: Path, body: object, options?: VersionOptions) =>
        call("PATCH", path, { body, ...requestOf(options) });
      const remove = (path: string, options?: VersionOptions) => call("DELETE", path, requestOf(options));

      const admin: FeatureFlagsAdminActions = {
        flags: {
          create: (fields, options) => post("/flags", fields, options),
          list: (query) => get("/flags", query),
          get: (id, options) => get(`/flags/${part(id)}`, options),
          update: (id, fields, options) => patch(`/flags/${part(id)}`, fields, options),
          delete: (id, options) => remove(`/flags/${part(id)}`, options),
          explain: (id, input = {}, options) => post(`/flags/${part(id)}/explain`, input, options),
        },
        rules: {
          create: ({ flagId, ...rule }, options) => post(`/flags/${part(flagId)}/rules`, rule, options),
          list: (flagId, options) => get(`/flags/${part(flagId)}/rules`, options),
          update: (flagId, ruleId, fields, options) =>
            patch(`/flags/${part(flagId)}/rules/${part(ruleId)}`, fields, options),
          delete: (flagId, ruleId, options) =>
            remove(`/flags/${part(flagId)}/rules/${part(ruleId)}`, options),
        },
        overrides: {
          create: (override, options) => post("/overrides", override, options),
          list: (query) => get("/overrides", query),
          delete: (id, options) => remove(`/overrides/${part(id)}`, options),
        },
        segments: {
          create: (segment, options) => post("/segments", segment, options),
          list: (query) => get("/segments", query),
          get: (id, options) => get(`/segments/${part(id)}`, options),
          update: (id, fields, options) => patch(`/segments/${part(id)}`, fields, options),
          delete: (id, options) => remove(`/segments/${part(id)}`, options),
        },
        analytics: {
          stats: { get: (flagId, query) => get(`/flags/${part(flagId)}/stats`, query) },
          usage: { get: (query) => get("/metrics/usage", query) },
        },
        audit: {
          list: (query) => get("/audit", query),
          revert: (id, options) => post(`/audit/${part(id)}/revert`, {}, options),
          revertChange: (changeId, options) => post(`/changes/${part(changeId)}/revert`, {}, options),
        },
        plans: {
          create: (input, options) => post("/plans", input, options),
          preview: (input, options) => post("/plans", { ...input, preview: true }, options),
          apply: (id, options) => post(`/plans/${part(id)}/apply`, {}, options),
        },
      };
      // The declared flags only narrow the types.
      return { featureFlags: { admin: admin as unknown as FeatureFlagsAdminActions<Flags> } };
    },
  };
}

type Method = NonNullable<RequestOptions["method"]>;

/** The paths of an operation. An id in them is any text. */
type PathsOf<Path extends string> = Path extends `${infer Start}/:${string}/${infer End}`
  ? `${Start}/${string}/${PathsOf<End>}`
  : Path extends `${infer Start}/:${string}`
    ? `${Start}/${string}`
    : Path;

/** The paths below `ADMIN` that a request with this method may have. */
type KnownPath<M extends Method> = M extends "DELETE" ? string : PathIn<M, PathsOf<keyof AdminAnswers>>;
type PathIn<M extends Method, Request> = Request extends `${M} ${typeof ADMIN}${infer Path}` ? Path : never;

/** What a request answers. Compared both ways, because `/flags/${string}` includes `/flags/${string}/rules`. */
type AnswerOf<M extends Method, Path extends string> = M extends "DELETE"
  ? null
  : {
      [Key in keyof AdminAnswers]: [PathIn<M, PathsOf<Key>>, Path] extends [Path, PathIn<M, PathsOf<Key>>]
        ? Revived<AdminAnswers[Key]>
        : never;
    }[keyof AdminAnswers];

function requestOf({ version, organizationId, note }: VersionOptions = {}): RequestOptions {
  const query = {
    ...(organizationId !== undefined && { organizationId }),
    ...(note !== undefined && { note }),
  };
  return {
    ...(version !== undefined && { headers: { "if-match": `"${version}"` } }),
    ...(Object.keys(query).length > 0 && { query }),
  };
}

/** An error of the plugin has a code. Without one, a framework that passes on only GET and POST has answered. */
function explainMissingMethod(method: Method, error: ClientError): ClientError {
  const isMissing = error.code === undefined && (error.status === 404 || error.status === 405);
  if (!isMissing || method === "GET" || method === "POST") return error;
  const message = `The server does not answer ${method} requests (${error.status}). Mount Better Auth for GET, POST, PATCH and DELETE; in Next.js: export const { GET, POST, PATCH, DELETE } = toNextJsHandler(auth).`;
  return { ...error, message };
}

/** Ids and keys need no encoding. Any other text could change the path, so it becomes a name that no entity can have. */
function part(id: string): string {
  return /^(?:key:)?[\w-]+$/.test(id) ? id : "key:";
}
