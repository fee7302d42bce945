/** Every operation of the service as data: how it is reached, and what its caller must be allowed to do. */

/** What access control can grant on the resource `featureFlag`. */
export type FlagAction = "read" | "create" | "update" | "delete" | "override" | "audit" | "evaluate-as";

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
  featureFlag: ["read", "create", "update", "delete", "override", "audit", "evaluate-as"],
};

/**
 * Without a path: a method that only server code can call. `public` needs no permission. The permission matrix in the
 * tests is made from this table.
 */
export const ROUTES = {
  evaluateFeatureFlag: { method: "POST", path: "/feature-flags/evaluate", action: "public" },
  evaluateFeatureFlags: { method: "POST", path: "/feature-flags/evaluate-batch", action: "public" },
  bootstrapFeatureFlags: { method: "POST", path: "/feature-flags/bootstrap", action: "public" },
  createFeatureFlagEvent: { method: "POST", path: "/feature-flags/events", action: "public" },
  createFeatureFlagEventBatch: { method: "POST", path: "/feature-flags/events/batch", action: "public" },
  getFeatureFlagsHealth: { method: "GET", path: "/feature-flags/health", action: "public" },
  getFeatureFlagsReadiness: { method: "GET", path: "/feature-flags/ready", action: "public" },
  getFeatureFlagsMetrics: { method: "GET", path: "/feature-flags/metrics", action: "read" },

  listFeatureFlags: { method: "GET", path: "/feature-flags/admin/flags", action: "read" },
  createFeatureFlag: { method: "POST", path: "/feature-flags/admin/flags", action: "create" },
  getFeatureFlagRoute: { method: "GET", path: "/feature-flags/admin/flags/:id", action: "read" },
  updateFeatureFlag: { method: "POST", action: "update" },
  updateFeatureFlagRoute: { method: "PATCH", path: "/feature-flags/admin/flags/:id", action: "update" },
  deleteFeatureFlag: { method: "POST", action: "delete" },
  deleteFeatureFlagRoute: { method: "DELETE", path: "/feature-flags/admin/flags/:id", action: "delete" },
  explainFeatureFlag: { method: "POST", path: "/feature-flags/admin/flags/:id/explain", action: "read" },

  getFeatureFlagStats: { method: "GET", path: "/feature-flags/admin/flags/:id/stats", action: "read" },
  getFeatureFlagUsage: { method: "GET", path: "/feature-flags/admin/metrics/usage", action: "read" },

  listFeatureFlagRules: { method: "GET", path: "/feature-flags/admin/flags/:flagId/rules", action: "read" },
  createFeatureFlagRule: { method: "POST", action: "update" },
  createFeatureFlagRuleRoute: {
    method: "POST",
    path: "/feature-flags/admin/flags/:flagId/rules",
    action: "update",
  },
  updateFeatureFlagRuleRoute: {
    method: "PATCH",
    path: "/feature-flags/admin/flags/:flagId/rules/:ruleId",
    action: "update",
  },
  deleteFeatureFlagRuleRoute: {
    method: "DELETE",
    path: "/feature-flags/admin/flags/:flagId/rules/:ruleId",
    action: "update",
  },

  listFeatureFlagOverrides: { method: "GET", path: "/feature-flags/admin/overrides", action: "read" },
  createFeatureFlagOverride: { method: "POST", path: "/feature-flags/admin/overrides", action: "override" },
  deleteFeatureFlagOverrideRoute: {
    method: "DELETE",
    path: "/feature-flags/admin/overrides/:id",
    action: "override",
  },

  listFeatureFlagSegments: { method: "GET", path: "/feature-flags/admin/segments", action: "read" },
  createFeatureFlagSegment: { method: "POST", path: "/feature-flags/admin/segments", action: "update" },
  getFeatureFlagSegment: { method: "GET", path: "/feature-flags/admin/segments/:id", action: "read" },
  updateFeatureFlagSegment: { method: "PATCH", path: "/feature-flags/admin/segments/:id", action: "update" },
  deleteFeatureFlagSegment: { method: "DELETE", path: "/feature-flags/admin/segments/:id", action: "update" },

  listFeatureFlagAuditEntries: { method: "GET", path: "/feature-flags/admin/audit", action: "audit" },

  evaluateOfrepFlagRoute: { method: "POST", path: "/ofrep/v1/evaluate/flags/:key", action: "public" },
  evaluateOfrepFlagsRoute: { method: "POST", path: "/ofrep/v1/evaluate/flags", action: "public" },
} as const;
