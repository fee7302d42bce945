/** The store: everything the server asks of the database, and the only way it gets there. */
import { getCurrentAdapter } from "@better-auth/core/context";
import type { DBAdapter } from "@better-auth/core/db/adapter";
import type { CompiledFlag } from "../engine/compile.ts";
import type { OverrideDefinition } from "../engine/definition.ts";
import type { Actor, AuditEntry, Origin } from "../model/audit.ts";
import { FeatureFlagError } from "../model/errors.ts";
import {
  type CreateFeatureFlagInput,
  type FeatureFlag,
  type FeatureFlagPatch,
  NO_TENANT,
} from "../model/flag.ts";
import type { FlagOverride, FlagOverrideInput } from "../model/override.ts";
import type { AuditQuery, FlagListQuery, OverrideListQuery, Page, SegmentListQuery } from "../model/page.ts";
import type { FlagRule, FlagRuleInput, FlagRulePatch } from "../model/rule.ts";
import type { FlagSegment, FlagSegmentInput, FlagSegmentPatch } from "../model/segment.ts";
import { listAudit, verifyAudit } from "./audit.ts";
import type { BusState, ConnectBus } from "./bus.ts";
import type { EvaluationCounter } from "./events/evaluation-counter.ts";
import { type FlagLine, visitFlags } from "./flag-lines.ts";
import { readFlag } from "./flags.ts";
import type { HostTables } from "./host-tables.ts";
import { listFlags, listOverrides, listSegments } from "./lists.ts";
import { readRevision, readRevisions, readRevisionsDirectly } from "./revision.ts";
import { type Adapter, findRow } from "./rows.ts";
import { readRules } from "./rules.ts";
import { readSegment } from "./segments.ts";
import { createSnapshots } from "./snapshot.ts";
import type { SnapshotFigures } from "./snapshot-health.ts";
import { loadSnapshot, type TenantSnapshot } from "./tenant-snapshot.ts";
import { createTransactions, type TransactionState, type Transactions } from "./transaction.ts";
import { within } from "./wait.ts";
import { createWaking } from "./waking.ts";
import { type Change, type WriteContext, type Writer, write } from "./write.ts";
import { createFlag, deleteFlag, updateFlag } from "./write-flags.ts";
import { createOverride, deleteOverride } from "./write-overrides.ts";
import { createRule, deleteRule, updateRule } from "./write-rules.ts";
import { createSegment, deleteSegment, updateSegment } from "./write-segments.ts";

/** Whose flags a write is about, who makes it, and from where. */
export interface WriteScope {
  /** An organization's id where the application is multi-tenant, else `NO_TENANT`. */
  readonly tenant: string;
  readonly actor: Actor;
  readonly origin: Origin;
}

/** The tenants a list covers: one, or all of them. */
export type TenantFilter = { readonly tenant: string } | "all";

/** A flag as evaluation uses it. */
export interface SnapshotFlag {
  readonly flag: FeatureFlag;
  readonly compiled: CompiledFlag;
  /** The tally's own: made with the first evaluation that is counted. */
  counter: EvaluationCounter | undefined;
}

/** A tenant's flags at one revision. Immutable. */
export interface Snapshot {
  readonly revision: number;
  /** By key, in the order of the keys. */
  readonly flags: ReadonlyMap<string, SnapshotFlag>;
  /** The override of a user for a flag, if it is enabled and has not expired at this wall-clock time. */
  override(flagId: string, userId: string, nowMs: number): OverrideDefinition | undefined;
}

export interface SnapshotReading {
  readonly snapshot: Snapshot;
  /** The database could not be asked for a newer revision for more than two seconds. */
  readonly stale: boolean;
}

export interface StoreHealth {
  readonly revision: number;
  /** Since the database was last asked and agreed; null when there is no snapshot, or one that must be read anew. */
  readonly snapshotAgeMs: number | null;
  readonly stale: boolean;
  /** What keeps the snapshot from being refreshed, while something does. Without internals. */
  readonly problem?: string;
  /** Whether the database undoes a failed transaction; without that, every write is refused. */
  readonly transactions: TransactionState;
  /** Whether changes elsewhere are heard of at once (`up`), or by polling alone. */
  readonly bus: BusState;
}

/** What metrics say of the flags in memory. */
export interface StoreFigures extends SnapshotFigures {
  /** Of the flags that belong to no organization. */
  readonly revision: number;
  readonly bus: BusState;
}

/** What `verifyAudit` found: a whole chain, or the first revision at which it breaks. */
export type AuditVerdict =
  | { readonly ok: true; readonly entries: number }
  | { readonly ok: false; readonly revision: number; readonly problem: string };

/**
 * Every method rejects with a `FeatureFlagError`. A write is committed with its audit entry and its revision, and this
 * node's snapshot has it, before the method resolves. A `version` that is not the entity's own is a 409.
 */
export interface FlagStore {
  /**
   * What evaluation reads: from memory, at most a second behind the database. A caller that has seen `minRevision`
   * gets nothing older, unless the database cannot be read within a second.
   */
  snapshot(tenant: string, minRevision?: number): Promise<SnapshotReading>;
  /** The same from memory; undefined where the database must be asked first. */
  peek(tenant: string): SnapshotReading | undefined;
  /** The tenant an entity belongs to, undefined when there is no such entity: authorization asks this first. */
  tenantOf(entity: "flag" | "override" | "segment", id: string): Promise<string | undefined>;

  createFlag(scope: WriteScope, input: CreateFeatureFlagInput): Promise<FeatureFlag>;
  getFlag(tenant: string, id: string): Promise<FeatureFlag>;
  listFlags(tenants: TenantFilter, query: FlagListQuery): Promise<{ flags: FeatureFlag[]; page: Page }>;
  /** Calls `visit` with every flag, a chunk of them at a time. */
  visitFlags(tenants: TenantFilter, visit: (flag: FlagLine) => void): Promise<void>;
  updateFlag(scope: WriteScope, id: string, patch: FeatureFlagPatch, version?: number): Promise<FeatureFlag>;
  /** Deletes its rules and overrides with it. */
  deleteFlag(scope: WriteScope, id: string, version?: number): Promise<void>;

  /** In the order in which evaluation tries them. */
  listRules(tenant: string, flagId: string): Promise<FlagRule[]>;
  createRule(scope: WriteScope, flagId: string, input: FlagRuleInput): Promise<FlagRule>;
  updateRule(
    scope: WriteScope,
    flagId: string,
    ruleId: string,
    patch: FlagRulePatch,
    version?: number,
  ): Promise<FlagRule>;
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
  /** Walks a tenant's chain and says where it breaks, if it does. */
  verifyAudit(tenant: string): Promise<AuditVerdict>;

  health(tenant: string): Promise<StoreHealth>;
  figures(): StoreFigures;
  /** Stops all background work. The store answers on, from the database and from what it has in memory. */
  close(): Promise<void>;
}

export interface FlagStoreOptions {
  /** Told once per outage, not once per caller. */
  readonly warn: (message: string, error: unknown) => void;
  /** How often the database is asked for new revisions. Defaults to 500 ms; 0 turns the asking off. */
  readonly pollMs?: number | undefined;
  /** Those of the adapter, where others use them, too. */
  readonly transactions?: Transactions | undefined;
  /** Absent: everything is asked of the adapter. */
  readonly tables?: HostTables | undefined;
  /** How nodes tell each other of changes. Absent: polling alone. */
  readonly connectBus?: ConnectBus | undefined;
  /** Overrides a tenant may have. Defaults to 100,000, as many as fit in memory well. */
  readonly maxOverrides?: number | undefined;
  /** Monotonic, for ages and intervals. */
  readonly monotonicMs?: (() => number) | undefined;
  /** Wall-clock time, for stored times and the expiry of overrides. */
  readonly nowMs?: (() => number) | undefined;
}

const MAX_OVERRIDES = 100_000;
const POLL_MS = 500;
/** Whoever asks for health wants to know soon. */
const HEALTH_WAIT_MS = 1000;

export function createFlagStore(
  adapter: DBAdapter,
  {
    warn,
    pollMs = POLL_MS,
    transactions = createTransactions(adapter),
    tables,
    connectBus,
    maxOverrides = MAX_OVERRIDES,
    monotonicMs = () => performance.now(),
    nowMs = Date.now,
  }: FlagStoreOptions,
): FlagStore {
  const snapshots = createSnapshots<TenantSnapshot>(
    {
      readRevision: (tenant) => readRevision(adapter, tenant),
      readRevisions(tenants) {
        const ordinary = () => readRevisions(adapter, tenants);
        return tables === undefined
          ? ordinary()
          : tables.ask(() => readRevisionsDirectly(tables, tenants), ordinary);
      },
      load: (tenant, revision, known) => loadSnapshot(adapter, tenant, revision, known),
    },
    { warn, monotonicMs, pollMs },
  );
  const bus = connectBus?.({
    changed: createWaking({ check: snapshots.wake, monotonicMs }),
    connected: () => void snapshots.poll(),
  });
  const writer: Writer = { adapter, transactions, nowMs, committed };

  function committed(tenant: string, revision: number): Promise<void> {
    bus?.publish(tenant, revision);
    return snapshots.refresh(tenant, revision);
  }

  /** Whatever the database throws leaves the store as a STORAGE_ERROR. */
  async function guarded<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      throw FeatureFlagError.wrap(error, "STORAGE_ERROR");
    }
  }

  /** Inside a transaction of the host's, reads see what it has written; and SQLite has no second connection. */
  function read<Result>(work: (current: Adapter) => Promise<Result>): Promise<Result> {
    return guarded(async () => work(await getCurrentAdapter(adapter)));
  }

  function change<Result>(
    scope: WriteScope,
    work: (context: WriteContext) => Promise<Change<Result>>,
  ): Promise<Result> {
    return guarded(() => write(writer, scope, work));
  }

  return {
    snapshot: (tenant, minRevision) =>
      guarded(async () => {
        const fresh = snapshots.peek(tenant, minRevision);
        if (fresh !== undefined) return fresh;
        const current = await getCurrentAdapter(adapter);
        if (current === adapter) return snapshots.get(tenant, minRevision);
        // What is read inside a transaction of the host's may yet be undone, so it is used once and not kept.
        const snapshot = await loadSnapshot(current, tenant, await readRevision(current, tenant));
        return { snapshot, stale: false };
      }),
    peek: (tenant) => snapshots.peek(tenant),
    tenantOf: (entity, id) => read((current) => findTenant(current, entity, id)),

    createFlag: (scope, input) => change(scope, (context) => createFlag(context, input)),
    getFlag: (tenant, id) => read((current) => readFlag(current, tenant, id)),
    listFlags: (tenants, query) => read((current) => listFlags(current, tenants, query)),
    visitFlags: (tenants, visit) => read((current) => visitFlags(current, tenants, visit)),
    updateFlag: (scope, id, patch, version) =>
      change(scope, (context) => updateFlag(context, id, patch, version)),
    deleteFlag: (scope, id, version) => change(scope, (context) => deleteFlag(context, id, version)),

    listRules: (tenant, flagId) =>
      read(async (current) => {
        await readFlag(current, tenant, flagId);
        return (await readRules(current, tenant, flagId)).map(({ rule }) => rule);
      }),
    createRule: (scope, flagId, input) => change(scope, (context) => createRule(context, flagId, input)),
    updateRule: (scope, flagId, ruleId, patch, version) =>
      change(scope, (context) => updateRule(context, flagId, ruleId, patch, version)),
    deleteRule: (scope, flagId, ruleId, version) =>
      change(scope, (context) => deleteRule(context, flagId, ruleId, version)),

    createOverride: (scope, input) =>
      change(scope, (context) => createOverride(context, input, maxOverrides)),
    listOverrides: (tenants, query) =>
      read((current) => listOverrides(current, tenants, query, new Date(nowMs()))),
    deleteOverride: (scope, id) => change(scope, (context) => deleteOverride(context, id)),

    createSegment: (scope, input) => change(scope, (context) => createSegment(context, input)),
    getSegment: (tenant, id) => read((current) => readSegment(current, tenant, id)),
    listSegments: (tenants, query) => read((current) => listSegments(current, tenants, query)),
    updateSegment: (scope, id, patch, version) =>
      change(scope, (context) => updateSegment(context, id, patch, version)),
    deleteSegment: (scope, id, version) => change(scope, (context) => deleteSegment(context, id, version)),

    listAudit: (tenants, query) => read((current) => listAudit(current, tenants, query)),
    verifyAudit: (tenant) => read((current) => verifyAudit(current, tenant)),

    async health(tenant) {
      // Without a snapshot there is nothing to be healthy; whether one can be had shows in what follows.
      await within(snapshots.get(tenant), HEALTH_WAIT_MS, "There was no answer yet.").catch(() => undefined);
      const state = { transactions: transactions.state(), bus: bus?.state() ?? "off" };
      return { ...snapshots.health(tenant), ...state };
    },
    figures: () => ({
      ...snapshots.figures(),
      revision: snapshots.health(NO_TENANT).revision,
      bus: bus?.state() ?? "off",
    }),
    async close() {
      snapshots.close();
      await bus?.close();
    },
  };
}

const TABLES = {
  flag: { model: "featureFlag", idField: "flagId" },
  override: { model: "featureFlagOverride", idField: "overrideId" },
  segment: { model: "featureFlagSegment", idField: "segmentId" },
} as const;

async function findTenant(
  adapter: Adapter,
  entity: keyof typeof TABLES,
  id: string,
): Promise<string | undefined> {
  const { model, idField } = TABLES[entity];
  return (await findRow<{ tenant: string }>(adapter, model, { [idField]: id }))?.tenant;
}
