/** What the operations of administration return: the types of their responses, for the server and for clients. */
import type { AuditEntry } from "./audit.ts";
import type { FlagExplanation } from "./evaluation.ts";
import type { FeatureFlag, ListedFeatureFlag } from "./flag.ts";
import type { FlagOverride } from "./override.ts";
import type { Page } from "./page.ts";
import type {
  AppliedFeatureFlagPlan,
  FeatureFlagPlan,
  RevertedAuditEntry,
  RevertedFeatureFlagChange,
} from "./plan.ts";
import type { FlagRule } from "./rule.ts";
import type { FlagSegment } from "./segment.ts";
import type { FlagStats, FlagUsage } from "./stats.ts";
import type { WithWarnings } from "./warning.ts";

/** The responses by method and path. Every `DELETE` returns nothing. */
export type AdminAnswers = {
  "GET /feature-flags/admin/flags": { flags: ListedFeatureFlag[]; page: Page };
  "POST /feature-flags/admin/flags": WithWarnings<FeatureFlag>;
  "GET /feature-flags/admin/flags/:id": FeatureFlag;
  "PATCH /feature-flags/admin/flags/:id": WithWarnings<FeatureFlag>;
  "POST /feature-flags/admin/flags/:id/explain": FlagExplanation;
  "GET /feature-flags/admin/flags/:id/stats": FlagStats;
  "GET /feature-flags/admin/flags/:flagId/rules": { rules: FlagRule[] };
  "POST /feature-flags/admin/flags/:flagId/rules": WithWarnings<FlagRule>;
  "PATCH /feature-flags/admin/flags/:flagId/rules/:ruleId": WithWarnings<FlagRule>;
  "GET /feature-flags/admin/overrides": { overrides: FlagOverride[]; page: Page };
  "POST /feature-flags/admin/overrides": WithWarnings<FlagOverride>;
  "GET /feature-flags/admin/segments": { segments: FlagSegment[]; page: Page };
  "POST /feature-flags/admin/segments": WithWarnings<FlagSegment>;
  "GET /feature-flags/admin/segments/:id": FlagSegment;
  "PATCH /feature-flags/admin/segments/:id": WithWarnings<FlagSegment>;
  "GET /feature-flags/admin/metrics/usage": FlagUsage;
  "GET /feature-flags/admin/audit": { entries: AuditEntry[] };
  "POST /feature-flags/admin/audit/:id/revert": RevertedAuditEntry;
  "POST /feature-flags/admin/changes/:changeId/revert": RevertedFeatureFlagChange;
  "POST /feature-flags/admin/plans": FeatureFlagPlan;
  "POST /feature-flags/admin/plans/:id/apply": AppliedFeatureFlagPlan;
};
