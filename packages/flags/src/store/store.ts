/** The store: everything the server asks of the database, and the only way it gets there. */
import { getCurrentAdapter } from "@better-auth/core/context";
import type { DBAdapter, DBTransactionAdapter } from "@better-auth/core/db/adapter";
import type { Actor } from "../model/audit.ts";
import { FeatureFlagError } from "../model/errors.ts";
import type { FeatureFlag } from "../model/flag.ts";
import type { CreateFeatureFlagInput } from "../model/inputs.ts";
import { findTakenKey, insertFlag, readFlags } from "./flags.ts";
import { readRevision } from "./revision.ts";
import { createSnapshots, loadSnapshot, type SnapshotReading, type SnapshotSource } from "./snapshot.ts";
import { createTransactions } from "./transaction.ts";
import { write } from "./write.ts";

export interface FlagStore {
  /** The organization's flags as evaluation reads them: from memory, at most a second behind the database. */
  snapshot(organizationId: string): Promise<SnapshotReading>;
  createFlag(organizationId: string, input: CreateFeatureFlagInput, actor: Actor): Promise<FeatureFlag>;
}

export function createFlagStore(
  adapter: DBAdapter,
  warn: (message: string, error: unknown) => void,
): FlagStore {
  const transactions = createTransactions(adapter);
  const snapshots = createSnapshots(sourceOf(adapter), warn);

  return {
    snapshot: (organizationId) =>
      guarded(async () => {
        const fresh = snapshots.fresh(organizationId);
        if (fresh !== undefined) return fresh;
        const current = await getCurrentAdapter(adapter);
        if (current === adapter) return snapshots.get(organizationId);
        // Inside a transaction of the host's, SQLite has no second connection to read on; and what is read on this
        // one may yet be undone, so it is used once and not kept.
        const source = sourceOf(current);
        const revision = await source.readRevision(organizationId);
        return { snapshot: await loadSnapshot(source, organizationId, revision), stale: false };
      }),

    createFlag: (organizationId, input, actor) =>
      guarded(() =>
        write(adapter, transactions, {
          organizationId,
          actor,
          async change(tx, at) {
            const taken = await findTakenKey(tx, organizationId, input.key);
            if (taken !== undefined) {
              throw new FeatureFlagError(
                "VALIDATION_ERROR",
                `There is already a flag with the key "${taken}". Choose another key.`,
                { status: 409, details: { field: "key" } },
              );
            }
            const flag = await insertFlag(tx, organizationId, input, at);
            return {
              result: flag,
              action: "flag.created",
              flagId: flag.id,
              flagKey: flag.key,
              entityId: flag.id,
              before: null,
              after: JSON.stringify(flag),
            };
          },
          committed: () => snapshots.refresh(organizationId),
        }),
      ),
  };
}

function sourceOf(adapter: DBTransactionAdapter): SnapshotSource {
  return {
    readRevision: (organizationId) => readRevision(adapter, organizationId),
    readFlags: (organizationId) => readFlags(adapter, organizationId),
  };
}

/** Whatever the database throws leaves the store as a STORAGE_ERROR. */
async function guarded<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw FeatureFlagError.wrap(error, "STORAGE_ERROR");
  }
}
