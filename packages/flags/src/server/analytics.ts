/** Creates the event log, the queues in front of it, and the sinks behind it. */

import { queueAfterTransactionHook } from "@better-auth/core/context";
import type { DBAdapter } from "@better-auth/core/db/adapter";
import { within } from "@halyard/base";
import { createAdapterEventLog } from "../store/events/adapter/log.ts";
import { createAdapterOutbox } from "../store/events/adapter/outbox.ts";
import { createExposures } from "../store/events/exposures.ts";
import { refusalOfAdapter, refusalOfPostgres } from "../store/events/other-rows.ts";
import { createPostgresEventLog } from "../store/events/postgres/log.ts";
import { createPostgresOutbox } from "../store/events/postgres/outbox.ts";
import { createSinks } from "../store/events/sinks/sinks.ts";
import { createTally } from "../store/events/tally.ts";
import type { FlagStore } from "../store/flag-store.ts";
import { HostTables, type TableHost } from "../store/postgres/host-tables.ts";
import type { Transactions } from "../store/writes/transaction.ts";
import { mistake } from "./help.ts";
import type { Meter } from "./metrics/meter.ts";
import type { FeatureFlagsOptions } from "./options.ts";
import type { Service } from "./service.ts";

export type Analytics = Pick<Service, "events" | "tally" | "exposures" | "sinks">;

/** The longest that the deletion of a flag waits for the deletion of its statistics. */
const FORGET_WAIT_MS = 2000;

type EventOptions = NonNullable<FeatureFlagsOptions["events"]>;

export interface AnalyticsContext {
  readonly host: TableHost;
  readonly transactions: Transactions;
  readonly meter: Meter;
  readonly warn: (message: string, error: unknown) => void;
  /** Events that may wait to be written. Default 10,000. */
  readonly maxQueued?: number | undefined;
}

/** Throws for invalid settings of `events`. */
export function checkEventOptions({ retentionDays = 1 }: EventOptions = {}): void {
  if (!Number.isFinite(retentionDays) || retentionDays <= 0) {
    throw mistake(`events.retentionDays is ${retentionDays}. Set it to a number above 0.`);
  }
}

export function createAnalytics(
  adapter: DBAdapter,
  { postgres, events: { retentionDays, sinks = [] } = {} }: FeatureFlagsOptions,
  { host, transactions, meter, warn, maxQueued }: AnalyticsContext,
): Analytics {
  const outbox = sinks.map(({ name }) => name);
  const settings = { maxQueued, retentionDays, outbox, warn };
  const events =
    postgres === undefined
      ? createAdapterEventLog(adapter, {
          transactions,
          refusal: refusalOfAdapter(HostTables.on(host)),
          ...settings,
        })
      : createPostgresEventLog({
          pool: postgres,
          refusal: refusalOfPostgres(HostTables.of(host, postgres)),
          ...settings,
        });
  const waiting = postgres === undefined ? createAdapterOutbox(adapter) : createPostgresOutbox(postgres);
  return {
    events,
    sinks: createSinks(sinks, { adapter, outbox: waiting, meter, warn }),
    tally: createTally({ log: events, warn, lost: (count) => meter.lost("evaluation-count", count) }),
    exposures: createExposures({ log: events, warn, lost: (what, count) => meter.lost(what, count) }),
  };
}

/**
 * The store, which deletes the statistics of a flag with the flag. What cannot be deleted now is never read again, because
 * statistics are by the flag's id, and goes at the end of its retention.
 */
export function withoutStatistics(
  store: FlagStore,
  { tally, exposures, events }: Analytics,
  warn: (message: string, error: unknown) => void,
): FlagStore {
  async function forget(flagId: string): Promise<void> {
    try {
      // What waits in memory would be written after the deletion.
      await Promise.all([tally.flush(), exposures.flush()]);
      await events.forget(flagId);
    } catch (error) {
      warn(
        "The statistics of a deleted flag cannot be deleted now. They go at the end of their retention.",
        error,
      );
    }
  }
  /** Inside a transaction of the host, the flag may come back. */
  const forgetLater = (flagId: string) =>
    queueAfterTransactionHook(() =>
      within(forget(flagId), FORGET_WAIT_MS, "The statistics are deleted later.").catch(() => undefined),
    );
  return {
    ...store,
    async deleteFlag(scope, id, version) {
      await store.deleteFlag(scope, id, version);
      await forgetLater(id);
    },
    async revert(scope, id, check) {
      const reverted = await store.revert(scope, id, check);
      if (reverted.action === "flag.deleted") await forgetLater(reverted.flagId);
      return reverted;
    },
  };
}

/** Writes the counts and exposures that are still in memory, and stops. */
export async function closeAnalytics({ tally, exposures, events, sinks }: Analytics): Promise<void> {
  await Promise.all([tally.close(), exposures.close()]);
  await events.close();
  await sinks.close();
}
