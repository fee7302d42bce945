/** The store's interface for the server, and its result types. `store.ts` implements it. */
import type { Awaitable } from "@halyard/base";
import type { CompiledFlag } from "../engine/compile.ts";
import type { OverrideDefinition } from "../engine/definition.ts";
import type { Actor, AuditAction, AuditEntry, AuditHead, AuditVerdict, Origin } from "../model/audit.ts";
import type { FeatureFlag, FeatureFlagPatch, FlagDraft } from "../model/flag.ts";
import type { FlagOverride, FlagOverrideInput } from "../model/override.ts";
import type { AuditQuery, FlagListQuery, OverrideListQuery, Page, SegmentListQuery } from "../model/page.ts";
import type { RevertedAuditEntry, RevertedFeatureFlagChange } from "../model/plan.ts";
import type { Draft } from "../model/plan-input.ts";
import type { FlagRule, FlagRuleInput, FlagRulePatch } from "../model/rule.ts";
import type { FlagSegment, FlagSegmentInput, FlagSegmentPatch } from "../model/segment.ts";
import type { WithWarnings } from "../model/warning.ts";
import type { BusState } from "./announcer.ts";
import type { EvaluationCounter } from "./events/evaluation-counter.ts";
import type { Contents } from "./snapshot/entities.ts";
import type { Follower } from "./snapshot/followers.ts";
import type { SnapshotFigures } from "./snapshot/health.ts";
import type { WriteTimeouts } from "./write-timeouts.ts";
import type { Touched } from "./writes/drift.ts";
import type { TransactionState } from "./writes/transaction.ts";

/** The tenant whose flags a write changes, the actor, and the origin of the request. */
export interface WriteScope {
  /** The organization's id in a multi-tenant application, otherwise `NO_TENANT`. */
  readonly tenant: string;
  readonly actor: Actor;
  readonly origin: Origin;
  /** Of a change that several writes make. Default: the id of the first entry of each write. */
  readonly changeId?: string;
}

/** The tenants that a list covers. */
export type TenantFilter = { readonly tenant: string } | "all";

/** A flag as evaluation uses it. */
export interface SnapshotFlag {
  readonly flag: FeatureFlag;
  readonly compiled: CompiledFlag;
  /** Set by the tally at the first evaluation that it counts. */
  counter: EvaluationCounter | undefined;
}

/** A tenant's flags at one revision. Immutable. */
export interface Snapshot {
  readonly revision: number;
  /** By key, sorted by key. */
  readonly flags: ReadonlyMap<string, SnapshotFlag>;
  /** The user's override of a flag, if it is enabled and has not expired at `nowMs` (wall-clock time). */
  override(flagId: string, userId: string, nowMs: number): OverrideDefinition | undefined;
}

/** A snapshot with the entities it was made from, so that it can be compared with another one of the same tenant. */
export interface FollowedSnapshot extends Snapshot {
  /** The hash of the last audit entry. Two snapshots with the same one have the same history. */
  readonly auditHash: string;
  readonly contents: Contents;
  /** By the flag's id. A flag that did not change has the same object in the next snapshot. */
  readonly compiled: ReadonlyMap<string, CompiledFlag>;
}

/** The changes between two revisions of a tenant. */
export interface ChangedKeys {
  /** The audit hash at the earlier revision. */
  readonly hash: string;
  /** Keys of flags that were created, changed or deleted, or whose rules or overrides changed. */
  readonly keys: ReadonlySet<string>;
  /** Whether a segment changed, and so perhaps each flag that uses segments. */
  readonly segments: boolean;
}

export interface SnapshotReading {
  readonly snapshot: Snapshot;
  /** The snapshot was last confirmed by the database more than 2 s ago. */
  readonly stale: boolean;
}

export interface StoreHealth {
  readonly revision: number;
  /** Time since the database confirmed the snapshot; null if there is no snapshot or it must be read again. */
  readonly snapshotAgeMs: number | null;
  readonly stale: boolean;
  /** Why the snapshot cannot be refreshed now. Contains no internals. */
  readonly problem?: string;
  /** `refused` while the database is read-only or cannot be reached. */
  readonly writes: "accepted" | "refused";
  /** Whether the database ends the transaction of a frozen process. `unknown`: this process cannot ask. */
  readonly writeTimeouts: WriteTimeouts;
  /** Whether the database rolls back a failed transaction. If it does not, the store refuses every write. */
  readonly transactions: TransactionState;
  /** `up`: other processes announce changes immediately. Otherwise they arrive by polling. */
  readonly bus: BusState;
}

/** Metrics of the flags in memory. */
export interface StoreFigures extends SnapshotFigures {
  /** The revision of the flags that belong to no organization. */
  readonly revision: number;
  /** How often a snapshot in memory was replaced by a newer one, over all tenants. */
  readonly changes: number;
  readonly writes: StoreHealth["writes"];
  readonly bus: BusState;
}

/** A flag of an organization that no evaluation reads, because a global flag has its key. */
export type IgnoredFlag = {
  /** The organization that the flag belongs to. */
  readonly organizationId: string;
  /** The key of the flag. */
  readonly key: string;
};

/** What a draft would do to a tenant. */
export interface DraftPreview {
  readonly before: FollowedSnapshot;
  readonly after: FollowedSnapshot;
  readonly steps: readonly DraftStep[];
  /** Ids of the flags that it names, in its order, and of those whose answers it may change. */
  readonly reached: readonly string[];
  /** The fields that it touches. */
  readonly touched: readonly Touched[];
  /** Of what decides the answers of the reached flags. With another digest, users must be counted again. */
  readonly digest: string;
}

/** A change of a flag, a rule, an override or a segment that a draft or a revert makes. */
export interface DraftStep {
  readonly action: AuditAction;
  readonly flagKey: string;
  readonly before: object | null;
  readonly after: object | null;
}

/** What was seen of a tenant when a plan was made. */
export interface SeenDraft extends Pick<DraftPreview, "touched" | "digest"> {
  /** The plan, which is deleted with the change. */
  readonly planId: string;
  /** Thrown if what decides has changed since. */
  readonly drifted: Error;
}

/** The few fields of a flag that counting flags needs. */
export interface FlagHeader {
  readonly id: string;
  readonly tenant: string;
  readonly key: string;
  readonly enabled: boolean;
  readonly createdAt: Date;
}

/**
 * Every method rejects with a `FeatureFlagError`. A write resolves after its change, audit entry and revision are
 * committed and this process has them in its snapshot. A `version` other than the stored one is a 409.
 */
export interface FlagStore {
  /**
   * The snapshot for evaluation, from memory, at most 1 s behind the database. It is at least at `minRevision`, unless
   * the database cannot be read within 1 s. Synchronous unless the database must be read first.
   */
  snapshot(tenant: string, minRevision?: number): Awaitable<SnapshotReading>;
  /**
   * Keeps the tenant's flags in memory and current without evaluations. Calls back with the snapshot in memory, if there is
   * one, and then with every new one. Returns a function that stops.
   */
  follow(tenant: string, follower: Follower<FollowedSnapshot>): () => void;
  /**
   * What changed after one revision up to another, from the audit log. Undefined if the log does not have all of these
   * revisions.
   */
  changedKeys(tenant: string, after: number, upTo: number): Promise<ChangedKeys | undefined>;
  /** The tenant of an entity, or undefined if the entity does not exist. Authorization reads this first. */
  tenantOf(entity: "flag" | "override" | "segment", id: string): Promise<string | undefined>;
  /** The id of the entity with this key, or undefined if there is none. */
  idOfKey(entity: "flag" | "segment", tenant: string, key: string): Promise<string | undefined>;

  createFlag(scope: WriteScope, input: FlagDraft): Promise<WithWarnings<FeatureFlag>>;
  getFlag(tenant: string, id: string): Promise<FeatureFlag>;
  listFlags(tenants: TenantFilter, query: FlagListQuery): Promise<{ flags: FeatureFlag[]; page: Page }>;
  /** Calls `visit` for every flag. Reads the flags in chunks. */
  visitFlags(tenants: TenantFilter, visit: (flag: FlagHeader) => void): Promise<void>;
  /** Flags of organizations with one of these keys, at most `limit`. */
  findFlagsOfOrganizations(keys: readonly string[], limit: number): Promise<IgnoredFlag[]>;
  updateFlag(
    scope: WriteScope,
    id: string,
    patch: FeatureFlagPatch,
    version?: number,
  ): Promise<WithWarnings<FeatureFlag>>;
  /** Deletes the flag with its rules and overrides. */
  deleteFlag(scope: WriteScope, id: string, version?: number): Promise<void>;

  /** The number of rules that count in the environment, from memory. Undefined if the flags have never been read. */
  countRules(
    tenant: string,
    environment: string | undefined,
  ): Promise<((flagId: string) => number) | undefined>;
  /** In evaluation order. */
  listRules(tenant: string, flagId: string): Promise<FlagRule[]>;
  createRule(scope: WriteScope, flagId: string, input: FlagRuleInput): Promise<WithWarnings<FlagRule>>;
  updateRule(
    scope: WriteScope,
    flagId: string,
    ruleId: string,
    patch: FlagRulePatch,
    version?: number,
  ): Promise<WithWarnings<FlagRule>>;
  deleteRule(scope: WriteScope, flagId: string, ruleId: string, version?: number): Promise<void>;

  createOverride(scope: WriteScope, input: FlagOverrideInput): Promise<FlagOverride>;
  listOverrides(
    tenants: TenantFilter,
    query: OverrideListQuery,
  ): Promise<{ overrides: FlagOverride[]; page: Page }>;
  deleteOverride(scope: WriteScope, id: string): Promise<void>;

  createSegment(scope: WriteScope, input: FlagSegmentInput): Promise<FlagSegment>;
  getSegment(tenant: string, id: string): Promise<FlagSegment>;
  listSegments(
    tenants: TenantFilter,
    query: SegmentListQuery,
  ): Promise<{ segments: FlagSegment[]; page: Page }>;
  updateSegment(
    scope: WriteScope,
    id: string,
    patch: FlagSegmentPatch,
    version?: number,
  ): Promise<FlagSegment>;
  deleteSegment(scope: WriteScope, id: string, version?: number): Promise<void>;

  /** Newest first. */
  listAudit(tenants: TenantFilter, query: AuditQuery): Promise<AuditEntry[]>;
  /** Entries of one tenant after a revision, oldest first. */
  readAudit(tenant: string, query: { after: number; limit: number }): Promise<AuditEntry[]>;
  /** Of an audit entry, or of all entries of a change. Undefined if there is none. Authorization reads this first. */
  auditFacts(
    of: { readonly id: string } | { readonly changeId: string },
  ): Promise<{ readonly tenant: string; readonly actions: readonly AuditAction[] } | undefined>;
  /**
   * Makes the inverse change of an audit entry. Later changes of the same fields are a 409. Nothing is changed if `check`
   * throws.
   */
  revert(scope: WriteScope, id: string, check?: (step: DraftStep) => void): Promise<RevertedAuditEntry>;

  /** What the draft would do. Throws as making it would, and writes nothing. */
  previewDraft(tenant: string, draft: Draft): Promise<DraftPreview>;
  /**
   * Makes all changes of the draft, or none. Nothing is changed if `check` throws. With `seen`, a touched field that has
   * another value is a 409, and another digest throws `seen.drifted`.
   */
  makeDraft(
    scope: WriteScope & { readonly changeId: string },
    draft: Draft,
    check: (step: DraftStep) => void,
    seen?: SeenDraft,
  ): Promise<RevertedFeatureFlagChange>;
  storePlan(plan: string): Promise<{ readonly id: string; readonly expiresAt: Date }>;
  /** Undefined if there is no such plan, or it has expired. */
  findPlan(id: string): Promise<string | undefined>;
  /** Checks every entry of a tenant's audit log, and with `kept` that it still contains that head. */
  verifyAudit(tenant: string, kept?: Pick<AuditHead, "revision" | "hash">): Promise<AuditVerdict>;

  health(tenant: string): Promise<StoreHealth>;
  figures(): StoreFigures;
  /** Stops all background work. The store still answers, from the database and from memory. */
  close(): Promise<void>;
}
