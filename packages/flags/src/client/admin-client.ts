/** Implements the admin helpers, `authClient.featureFlags.admin.*`, as a separate plugin, so that other pages do not load it. */
import type { AuditEntry } from "../model/audit.ts";
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
import type { FlagRule, FlagRuleInput, FlagRulePatch } from "../model/rule.ts";
import type { FlagSegment, FlagSegmentInput, FlagSegmentPatch } from "../model/segment.ts";
import type { FlagStats, FlagUsage } from "../model/stats.ts";
import type { FeatureFlagStatsQuery, FeatureFlagUsageQuery } from "../model/stats-query.ts";
import { reviveDates } from "./dates.ts";
import {
  type AuthClientOptions,
  type AuthFetch,
  type ClientResult,
  createTransport,
  type RequestOptions,
} from "./transport.ts";

type Result<Data> = Promise<ClientResult<Data>>;

/** The expected version. If the stored version differs, the server responds 409 and changes nothing. */
export type VersionOptions = { version?: number | undefined };

type Series<Stats extends { series: unknown }> = Omit<Stats, "series"> & {
  series: { at: Date; evaluations: number }[];
};
export type ClientFlagStats = Series<FlagStats>;
export type ClientFlagUsage = Series<FlagUsage>;
export type ClientAuditEntry = Omit<AuditEntry, "at"> & { readonly at: Date };

/** Every helper resolves to Better Auth's `{ data, error }` and never rejects. */
export interface FeatureFlagsAdminActions {
  flags: {
    create(fields: CreateFeatureFlagInput): Result<FeatureFlag>;
    list(query?: ListFeatureFlagsQuery): Result<{ flags: ListedFeatureFlag[]; page: Page }>;
    get(id: string): Result<FeatureFlag>;
    update(id: string, fields: FeatureFlagPatch, options?: VersionOptions): Result<FeatureFlag>;
    delete(id: string, options?: VersionOptions): Result<null>;
    /** Returns each step that led to the flag's value. */
    explain(id: string, input?: ExplainFeatureFlagInput): Result<FlagExplanation>;
  };
  rules: {
    create(rule: FlagRuleInput & { flagId: string }): Result<FlagRule>;
    list(flagId: string): Result<{ rules: FlagRule[] }>;
    update(flagId: string, ruleId: string, fields: FlagRulePatch, options?: VersionOptions): Result<FlagRule>;
    delete(flagId: string, ruleId: string, options?: VersionOptions): Result<null>;
  };
  overrides: {
    create(override: FlagOverrideInput): Result<FlagOverride>;
    list(query?: ListFeatureFlagOverridesQuery): Result<{ overrides: FlagOverride[]; page: Page }>;
    delete(id: string): Result<null>;
  };
  segments: {
    create(segment: FlagSegmentInput): Result<FlagSegment>;
    list(query?: ListFeatureFlagSegmentsQuery): Result<{ segments: FlagSegment[]; page: Page }>;
    get(id: string): Result<FlagSegment>;
    update(id: string, fields: FlagSegmentPatch, options?: VersionOptions): Result<FlagSegment>;
    delete(id: string, options?: VersionOptions): Result<null>;
  };
  analytics: {
    stats: { get(flagId: string, query?: FeatureFlagStatsQuery): Result<ClientFlagStats> };
    usage: { get(query?: FeatureFlagUsageQuery): Result<ClientFlagUsage> };
  };
  audit: { list(query?: ListFeatureFlagAuditEntriesQuery): Result<{ entries: ClientAuditEntry[] }> };
}

export type FeatureFlagsAdminClientPlugin = {
  id: "feature-flags-admin";
  getActions: (
    $fetch: AuthFetch,
    $store: object,
    options: AuthClientOptions | undefined,
  ) => { featureFlags: { admin: FeatureFlagsAdminActions } };
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
export function featureFlagsAdminClient(): FeatureFlagsAdminClientPlugin {
  return {
    id: "feature-flags-admin",
    getActions($fetch, _store, options) {
      const transport = createTransport($fetch, options);

      async function call<Data>(method: Method, path: string, more: RequestOptions = {}): Result<Data> {
        const result = await transport.request<Data>(ADMIN + path, { ...more, method });
        return result.error === null ? { data: reviveDates(result.data), error: null } : result;
      }
      const get = <Data>(path: string, query: object = {}): Result<Data> => call("GET", path, { query });
      const post = <Data>(path: string, body: object): Result<Data> => call("POST", path, { body });
      const patch = <Data>(path: string, body: object, version?: VersionOptions): Result<Data> =>
        call("PATCH", path, { body, ...ifMatch(version) });
      const remove = (path: string, version?: VersionOptions): Result<null> =>
        call("DELETE", path, ifMatch(version));

      const admin: FeatureFlagsAdminActions = {
        flags: {
          create: (fields) => post("/flags", fields),
          list: (query) => get("/flags", query),
          get: (id) => get(`/flags/${part(id)}`),
          update: (id, fields, version) => patch(`/flags/${part(id)}`, fields, version),
          delete: (id, version) => remove(`/flags/${part(id)}`, version),
          explain: (id, input = {}) => post(`/flags/${part(id)}/explain`, input),
        },
        rules: {
          create: ({ flagId, ...rule }) => post(`/flags/${part(flagId)}/rules`, rule),
          list: (flagId) => get(`/flags/${part(flagId)}/rules`),
          update: (flagId, ruleId, fields, version) =>
            patch(`/flags/${part(flagId)}/rules/${part(ruleId)}`, fields, version),
          delete: (flagId, ruleId, version) =>
            remove(`/flags/${part(flagId)}/rules/${part(ruleId)}`, version),
        },
        overrides: {
          create: (override) => post("/overrides", override),
          list: (query) => get("/overrides", query),
          delete: (id) => remove(`/overrides/${part(id)}`),
        },
        segments: {
          create: (segment) => post("/segments", segment),
          list: (query) => get("/segments", query),
          get: (id) => get(`/segments/${part(id)}`),
          update: (id, fields, version) => patch(`/segments/${part(id)}`, fields, version),
          delete: (id, version) => remove(`/segments/${part(id)}`, version),
        },
        analytics: {
          stats: { get: (flagId, query) => get(`/flags/${part(flagId)}/stats`, query) },
          usage: { get: (query) => get("/metrics/usage", query) },
        },
        audit: { list: (query) => get("/audit", query) },
      };
      return { featureFlags: { admin } };
    },
  };
}

type Method = NonNullable<RequestOptions["method"]>;

function ifMatch({ version }: VersionOptions = {}): RequestOptions {
  return version === undefined ? {} : { headers: { "if-match": `"${version}"` } };
}

/** Ids of this plugin need no encoding. Any other text could change the path, so it becomes an id that does not exist. */
function part(id: string): string {
  return /^[\w-]+$/.test(id) ? id : "-";
}
