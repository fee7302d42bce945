/** Builds the flag store: connects snapshots, writes, lists and the notification bus to the host's database adapter. */

import { getCurrentAdapter } from "@better-auth/core/context";
import type { DBAdapter } from "@better-auth/core/db/adapter";
import { within } from "@halyard/base";
import type { AuditHead } from "../model/audit.ts";
import { type FeatureFlag, NO_TENANT } from "../model/flag.ts";
import type { FlagListQuery } from "../model/page.ts";
import type { FlagRule } from "../model/rule.ts";
import type { ConnectBus } from "./announcer.ts";
import type { FlagStore, SnapshotReading, TenantFilter, WriteScope } from "./flag-store.ts";
import { findPlan, storePlan } from "./plans.ts";
import type { HostTables } from "./postgres/host-tables.ts";
import { readFlag, visitFlags } from "./rows/flags.ts";
import { findFlagsOfOrganizations } from "./rows/global-keys.ts";
import { isIdOrder, listFlags, listOverrides, listSegments } from "./rows/lists.ts";
import { type Adapter, findRow } from "./rows/queries.ts";
import { readRules } from "./rows/rules.ts";
import { readSegment } from "./rows/segments.ts";
import { createChangeChecks } from "./snapshot/change-checks.ts";
import { Snapshots } from "./snapshot/snapshots.ts";
import { loadSnapshot, TenantSnapshot } from "./snapshot/tenant-snapshot.ts";
import { refusesWrites, storageError } from "./unavailable.ts";
import type { WriteTimeouts } from "./write-timeouts.ts";
import { findEntries, listAudit, readEntries } from "./writes/audit.ts";
import { readCounted, readCountedDirectly } from "./writes/change-counter.ts";
import { readChangedKeys } from "./writes/changed-keys.ts";
import { makeDraft, makeRevert } from "./writes/make-draft.ts";
import { previewDraft } from "./writes/preview.ts";
import {
  type ChainEnd,
  isSameEnd,
  readRevision,
  readRevisions,
  readRevisionsDirectly,
} from "./writes/revision.ts";
import { createTransactions, type Transactions } from "./writes/transaction.ts";
import { verifyAudit } from "./writes/verify-audit.ts";
import { type Change, type Unchanged, type WriteContext, type Writer, write } from "./writes/write.ts";
import { createFlag, deleteFlag, updateFlag } from "./writes/write-flags.ts";
import { createOverride, deleteOverride } from "./writes/write-overrides.ts";
import { createRule, deleteRule, updateRule } from "./writes/write-rules.ts";
import { createSegment, deleteSegment, updateSegment } from "./writes/write-segments.ts";

export interface FlagStoreOptions {
  /** Called once per outage, not once per caller. */
  readonly warn: (message: string, error: unknown) => void;
  /** Interval at which the database is polled for new revisions. Default 500 ms; 0 turns polling off. */
  readonly pollMs?: number | undefined;
  /** Default: transactions of `adapter`. Pass them to share the result of the rollback test. */
  readonly transactions?: Transactions | undefined;
  /** For frequent queries on PostgreSQL without the adapter. Default: the adapter runs all queries. */
  readonly tables?: HostTables | undefined;
  /** Whether the transactions of writes have timeouts. Default: unknown. */
  readonly timeouts?: (() => Promise<WriteTimeouts>) | undefined;
  /** Connects the bus on which processes announce changes. Default: polling only. */
  readonly connectBus?: ConnectBus | undefined;
  /** Called after each committed write with the new head of the tenant's audit log. */
  readonly onAuditHead?: ((head: AuditHead) => void | Promise<void>) | undefined;
  /** Overrides that a tenant may have. Default 100,000, which fit in memory. */
  readonly maxOverrides?: number | undefined;
  /** Monotonic time, for ages and intervals. */
  readonly monotonicMs?: (() => number) | undefined;
  /** Wall-clock time, for stored times and the expiry of overrides. */
  readonly nowMs?: (() => number) | undefined;
}

const MAX_OVERRIDES = 100_000;
const POLL_MS = 500;
/** The longest that a write waits for `onAuditHead`. */
const HEAD_WAIT_MS = 5000;
/** The longest that a health check waits for a snapshot. */
const HEALTH_WAIT_MS = 1000;

export function createFlagStore(
  adapter: DBAdapter,
  {
    warn,
    pollMs = POLL_MS,
    transactions = createTransactions(adapter),
    tables,
    timeouts = async () => "unknown",
    connectBus,
    onAuditHead,
    maxOverrides = MAX_OVERRIDES,
    monotonicMs = () => performance.now(),
    nowMs = Date.now,
  }: FlagStoreOptions,
): FlagStore {
  let changes = 0;
  /** Whether the database refused the last write, or said that it would. */
  let areRefused = false;
  const snapshots = new Snapshots<TenantSnapshot>(
    {
      readRevision: (tenant) => readRevision(adapter, tenant),
      readRevisions(tenants) {
        const throughAdapter = () => readRevisions(adapter, tenants);
        return tables === undefined
          ? throughAdapter()
          : tables.ask(() => readRevisionsDirectly(tables, tenants), throughAdapter);
      },
      async readCounted(since) {
        const throughAdapter = () => readCounted(adapter, since);
        const counted = await (tables === undefined
          ? throughAdapter()
          : tables.ask(() => readCountedDirectly(tables, since), throughAdapter));
        areRefused = counted.isReadOnly ?? areRefused;
        return counted;
      },
      async load(tenant, end, previous) {
        const snapshot = await loadSnapshot(adapter, tenant, end, previous);
        if (previous !== undefined) changes += 1;
        return snapshot;
      },
    },
    { warn, monotonicMs, pollMs },
  );
  const bus = connectBus?.({
    changed: createChangeChecks({
      check: (tenant, revision) => snapshots.wake(tenant, revision),
      monotonicMs,
    }),
    connected: () => void snapshots.poll(),
  });
  const writer: Writer = {
    adapter,
    transactions,
    nowMs,
    snapshot: (tenant) => snapshots.get(tenant).then(contentsOf, () => undefined),
    peek: (tenant) => contentsOf(snapshots.peek(tenant)),
    committed,
  };

  const writes = () => (areRefused || snapshots.isCutOff() ? "refused" : "accepted");

  async function committed(tenant: string, end: ChainEnd): Promise<void> {
    bus?.announce(tenant, end.revision);
    await Promise.all([snapshots.refresh(tenant, end.revision), announceHead(tenant, end)]);
  }

  /** Never rejects: the change is committed, and the next head covers this one. */
  async function announceHead(tenant: string, { revision, auditHash }: ChainEnd): Promise<void> {
    if (onAuditHead === undefined) return;
    const head = { ...(tenant !== NO_TENANT && { organizationId: tenant }), revision, hash: auditHash };
    try {
      const announcing = Promise.resolve(onAuditHead(head));
      await within(announcing, HEAD_WAIT_MS, `onAuditHead did not end within ${HEAD_WAIT_MS} ms.`);
    } catch (error) {
      warn("onAuditHead failed, so this head of the audit log may not be kept elsewhere.", error);
    }
  }

  /** Wraps errors of the database as STORAGE_ERROR. */
  async function guarded<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      throw storageError(error);
    }
  }

  /** Inside a transaction of the host, reads must see its writes, and SQLite has no second connection. */
  function read<Result>(work: (current: Adapter) => Promise<Result>): Promise<Result> {
    return guarded(async () => work(await getCurrentAdapter(adapter)));
  }

  /**
   * All flags of the tenant, if the snapshot in memory is that of the database's revision. Undefined for a page that the
   * database finds by its index.
   */
  async function flagsInMemory(
    current: Adapter,
    tenants: TenantFilter,
    { sort, q, type, enabled, prefix, organizationId }: FlagListQuery,
  ): Promise<Iterable<FeatureFlag> | undefined> {
    const isIndexed = isIdOrder(sort) && (q ?? type ?? enabled ?? prefix ?? organizationId) === undefined;
    if (isIndexed || current !== adapter || tenants === "all") return undefined;
    const known = contentsOf(snapshots.peek(tenants.tenant));
    if (known === undefined || !isSameEnd(known, await readRevision(adapter, tenants.tenant)))
      return undefined;
    return known.contents.flags.values();
  }

  function change<Result>(
    scope: WriteScope,
    work: (context: WriteContext) => Promise<Change<Result> | Unchanged<Result>>,
  ): Promise<Result> {
    return guarded(async () => {
      try {
        const result = await write(writer, scope, work);
        areRefused = false;
        return result;
      } catch (error) {
        areRefused ||= refusesWrites(error);
        throw error;
      }
    });
  }

  return {
    snapshot: (tenant, minRevision) =>
      snapshots.peek(tenant, minRevision) ??
      guarded(async () => {
        const current = await getCurrentAdapter(adapter);
        if (current === adapter) return snapshots.get(tenant, minRevision);
        // The host may still roll back what is read inside its transaction, so this snapshot is not kept.
        const snapshot = await loadSnapshot(current, tenant, await readRevision(current, tenant));
        return { snapshot, stale: false };
      }),
    follow: (tenant, follower) => snapshots.follow(tenant, follower),
    changedKeys: (tenant, after, upTo) => guarded(() => readChangedKeys(adapter, tenant, { after, upTo })),
    tenantOf: (entity, id) => read((current) => findTenant(current, entity, id)),
    idOfKey: (entity, tenant, key) => read((current) => findId(current, entity, tenant, key)),

    createFlag: (scope, input) => change(scope, (context) => createFlag(context, input)),
    getFlag: (tenant, id) => read((current) => readFlag(current, tenant, id)),
    listFlags: (tenants, query) =>
      read(async (current) =>
        listFlags(current, tenants, query, await flagsInMemory(current, tenants, query)),
      ),
    visitFlags: (tenants, visit) => read((current) => visitFlags(current, tenants, visit)),
    findFlagsOfOrganizations: (keys, limit) =>
      read((current) => findFlagsOfOrganizations(current, keys, limit)),
    updateFlag: (scope, id, patch, version) =>
      change(scope, (context) => updateFlag(context, id, patch, version)),
    deleteFlag: (scope, id, version) => change(scope, (context) => deleteFlag(context, id, version)),

    countRules: async (tenant, environment) => {
      const known = contentsOf(await snapshots.get(tenant).catch(() => undefined));
      if (known === undefined) return undefined;
      const counts = ({ enabled, environments }: FlagRule): boolean =>
        enabled && (environments?.some((name) => name === environment) ?? true);
      return (flagId) => [...(known.contents.rules.get(flagId)?.values() ?? [])].filter(counts).length;
    },
    listRules: (tenant, flagId) =>
      read(async (current) => {
        await readFlag(current, tenant, flagId);
        return readRules(current, tenant, flagId);
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
    readAudit: (tenant, query) => read((current) => readEntries(current, tenant, query)),
    auditFacts: (of) => read((current) => findEntries(current, of)),
    revert: (scope, id, check) => change(scope, (context) => makeRevert(context, id, maxOverrides, check)),
    previewDraft: (tenant, draft) =>
      read(async (current) => {
        const end = await readRevision(current, tenant);
        const known = current === adapter ? contentsOf(await snapshots.get(tenant, end.revision)) : undefined;
        const isCurrent = known !== undefined && known.revision >= end.revision;
        const before = isCurrent ? known : await loadSnapshot(current, tenant, end, known);
        return previewDraft(current, tenant, draft, { before, maxOverrides, now: new Date(nowMs()) });
      }),
    makeDraft: (scope, draft, check, seen) =>
      change(scope, (context) => makeDraft(context, draft, maxOverrides, { check, seen, ...scope })),
    storePlan: (plan) => read((current) => storePlan(current, plan, nowMs())),
    findPlan: (id) => read((current) => findPlan(current, id, nowMs())),
    verifyAudit: (tenant, kept) => read((current) => verifyAudit(current, tenant, kept)),

    async health(tenant) {
      // The result of this read shows in the fields below.
      await within(snapshots.get(tenant), HEALTH_WAIT_MS, "The database has not answered yet.").catch(
        () => undefined,
      );
      return {
        ...snapshots.health(tenant),
        writes: writes(),
        writeTimeouts: await timeouts(),
        transactions: transactions.state(),
        bus: bus?.state() ?? "off",
      };
    },
    figures: () => ({
      ...snapshots.figures(),
      revision: snapshots.health(NO_TENANT).revision,
      changes,
      writes: writes(),
      bus: bus?.state() ?? "off",
    }),
    async close() {
      snapshots.close();
      await bus?.close();
    },
  };
}

function contentsOf(reading: SnapshotReading | undefined): TenantSnapshot | undefined {
  return reading?.snapshot instanceof TenantSnapshot ? reading.snapshot : undefined;
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

async function findId(
  adapter: Adapter,
  entity: "flag" | "segment",
  tenant: string,
  key: string,
): Promise<string | undefined> {
  const { model, idField } = TABLES[entity];
  return (await findRow<Record<string, string>>(adapter, model, { tenant, key }))?.[idField];
}
