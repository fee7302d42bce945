/** The event log on the host's database adapter. Writes each group of queued events in one transaction. */
import { getCurrentAdapter, runWithAdapter } from "@better-auth/core/context";
import type { DBAdapter } from "@better-auth/core/db/adapter";
import { areRequestsIsolated } from "../../isolated-requests.ts";
import type { Adapter } from "../../rows/queries.ts";
import { storageError } from "../../unavailable.ts";
import type { Transactions } from "../../writes/transaction.ts";
import type { EventLog } from "../event-log.ts";
import { createEventLog, type EventLogOptions } from "../log.ts";
import type { EventStorage } from "../storage.ts";
import { addExposures, addLinks } from "./exposure-rows.ts";
import {
  readActivity,
  readArmActivity,
  readFlagFigures,
  readHourlyEvaluations,
  readSummaries,
  readUsageFigures,
} from "./figures.ts";
import { foldEntries, oldestEntry } from "./fold.ts";
import { insertGroup, takeKey } from "./insert.ts";
import { createOutboxRows } from "./outbox.ts";
import { addEvaluations } from "./rollup.ts";
import { forgetFlag, sweepEvents } from "./sweep.ts";
import { isUniqueViolation } from "./unique-violation.ts";

export interface AdapterEventLogOptions extends EventLogOptions {
  readonly transactions: Transactions;
  /** Names of the sinks that get the stored events. */
  readonly outbox?: readonly string[] | undefined;
  readonly refusal?: EventStorage["refusal"] | undefined;
}

/** Small enough not to block a database with one connection, such as SQLite. */
const MAX_GROUP_ROWS = 100;
/** Attempts to write a group when another process inserts the same key or roll-up first. */
const MAX_ATTEMPTS = 20;

const REFUSAL = "Events cannot be recorded";

export function createAdapterEventLog(adapter: DBAdapter, options: AdapterEventLogOptions): EventLog {
  const { transactions, outbox = [], refusal, nowMs = Date.now } = options;
  const isolated = areRequestsIsolated();
  const outboxRows = createOutboxRows(outbox);

  /** Wraps errors of the database as STORAGE_ERROR. */
  async function guarded<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      throw storageError(error);
    }
  }

  function read<Result>(work: (current: Adapter) => Promise<Result>): Promise<Result> {
    return guarded(async () => work(await getCurrentAdapter(adapter)));
  }

  /** Runs `work` on a connection of its own, also inside a transaction of the host. */
  async function separately<Result>(work: () => Promise<Result>): Promise<Result> {
    return runWithAdapter(adapter, () => guarded(work));
  }

  /** The host cannot roll back this transaction with its own. */
  function inSeparateTransaction<Result>(work: (tx: Adapter) => Promise<Result>): Promise<Result> {
    return separately(async () => {
      await transactions.prove(REFUSAL);
      for (let attempt = 1; ; attempt++) {
        try {
          return await transactions.run(work);
        } catch (error) {
          if (attempt === MAX_ATTEMPTS || !isUniqueViolation(error)) throw error;
        }
      }
    });
  }

  const storage: EventStorage = {
    maxGroupRows: MAX_GROUP_ROWS,
    // A second connection would wait for the locks of the first, and SQLite has none.
    maxParallel: 1,
    writesDirectly: async () => isolated || (await getCurrentAdapter(adapter)) !== adapter,
    async insertGroup(group, isDirect) {
      const current = await getCurrentAdapter(adapter);
      const insert = (tx: Adapter) => insertGroup(tx, group, { nowMs: nowMs(), outboxRows });
      if (!isDirect || current === adapter) return inSeparateTransaction(insert);
      // The event is committed or rolled back with the host's transaction.
      return guarded(async () => {
        await transactions.prove(REFUSAL);
        return insert(current);
      });
    },
    mayConcernOne: () => true,
    async fold() {
      // Without a transaction: most of the time nothing waits.
      if ((await separately(() => oldestEntry(adapter))) === undefined) return false;
      return inSeparateTransaction(foldEntries);
    },
    async waitingSince() {
      const oldest = await separately(() => oldestEntry(adapter));
      return oldest && Date.parse(oldest.enqueuedAt);
    },
    expose: (exposures) => inSeparateTransaction((tx) => addExposures(tx, exposures)),
    link: (links) => inSeparateTransaction((tx) => addLinks(tx, links)),
    count: (counts, id) =>
      inSeparateTransaction(async (tx) => {
        if (id === undefined || (await takeKey(tx, id, nowMs()))) await addEvaluations(tx, counts);
      }),

    flagFigures: (flag, window) => read((current) => readFlagFigures(current, flag, window)),
    summaries: (flags, window) => read((current) => readSummaries(current, flags, window)),
    hourlyEvaluations: (tenant, flagIds, window) =>
      read((current) => readHourlyEvaluations(current, tenant, flagIds, window)),
    usageFigures: (tenant, window) =>
      read((current) => readUsageFigures(current, tenant === "all" ? undefined : tenant, window)),
    activity: (about, window) => read((current) => readActivity(current, about, window)),
    armActivity: (flagId, window) => read((current) => readArmActivity(current, flagId, window)),

    forget: (flagId) => separately(() => forgetFlag(adapter, flagId)),
    deleteOld: (atMs, retention) => separately(() => sweepEvents(adapter, atMs, retention)),
    ...(refusal && { refusal: () => guarded(refusal) }),
  };
  return createEventLog(storage, options);
}
