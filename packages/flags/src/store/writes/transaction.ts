/** Runs transactions on the host's adapter, and proves before the first write that the database rolls back a failed one. */
import { getCurrentAdapter, runWithTransaction } from "@better-auth/core/context";
import type { DBAdapter, DBTransactionAdapter } from "@better-auth/core/db/adapter";
import { FeatureFlagError } from "../../model/errors.ts";
import type { RevisionRow } from "../../model/tables.ts";
import { causesOf } from "../causes.ts";
import { areRequestsIsolated } from "../isolated-requests.ts";
import type { HostTables } from "../postgres/host-tables.ts";
import { LOST_TRANSACTION, type PostgresTransactions } from "../postgres/transactions.ts";
import { commitError, tryLater } from "../unavailable.ts";
import { sleep } from "../wait.ts";
import { firstRow } from "./revision.ts";

const REFUSAL = "Flags cannot be changed";

const NO_ROLLBACK =
  "this database set-up does not roll back a failed transaction, so a change could be stored in part. " +
  "Give Better Auth the driver itself as `database` (a pg Pool, a mysql2 pool, a SQLite database), or set `transaction: true` " +
  "beside `{ db, type }` or in the options of the Drizzle or Prisma adapter; on MySQL and MariaDB the tables must be InnoDB.";

const NOT_INSIDE =
  "inside another transaction before this process has proved that the database rolls back a failed one. " +
  "Make the first change outside of a transaction.";

/**
 * Serialization failure and deadlock of PostgreSQL; deadlock and changed record of MySQL and MariaDB; a SQLite file that
 * another process is writing to. SQLite does not wait for that process in a transaction that has read before.
 */
const LOST: ReadonlySet<unknown> = new Set([
  "40001",
  "40P01",
  "ER_LOCK_DEADLOCK",
  "ER_CHECKREAD",
  "SQLITE_BUSY",
  "SQLITE_BUSY_RECOVERY",
  "SQLITE_BUSY_SNAPSHOT",
]);
/** A lock that was not free in time, and a transaction that was idle for too long or whose connection broke. */
const WAITED: ReadonlySet<unknown> = new Set(["55P03", "25P03", LOST_TRANSACTION, "ER_LOCK_WAIT_TIMEOUT"]);
/** `node:sqlite` has one code for all errors, and the number of SQLite in `errcode`: its low byte is the kind of error. */
const SQLITE_BUSY = 5;

const MAX_ATTEMPTS = 40;
/** How long a transaction that waited in vain is repeated. */
const WAIT_MS = 10_000;
/**
 * After so many lost attempts, the writers of a process take turns. At the isolation level `serializable` all changes
 * conflict with each other, because they count in one row: a writer without luck would lose all its attempts.
 */
const ATTEMPTS_BESIDE_OTHERS = 3;
const RETRY_STEP_MS = 10;

const BUSY = "Other transactions did not let this one finish. Nothing was changed; repeat the request later.";

/** Whether the database rolls back a failed transaction. */
export type TransactionState = "unproven" | "ok" | "refused";

export interface Transactions {
  state(): TransactionState;
  /**
   * Throws an error that begins with `refusal` if the adapter does not roll back. The first call proves it with a row
   * that must disappear.
   */
  prove(refusal?: string): Promise<void>;
  /** Runs `work` in a new transaction, or in the one that is already open around this call. */
  run<Result>(work: (tx: DBTransactionAdapter) => Promise<Result>): Promise<Result>;
  /** The tables in this transaction, for queries without the adapter. Undefined where there are only adapters. */
  tablesIn(tx: DBTransactionAdapter): HostTables | undefined;
}

/** `postgres` runs the transactions of writes where the host's database is a pool of `pg`. */
export function createTransactions(adapter: DBAdapter, postgres?: PostgresTransactions): Transactions {
  const isolated = areRequestsIsolated();
  const ours: DBAdapter = postgres ? { ...adapter, transaction: (work) => postgres.write(work) } : adapter;
  let proof: Promise<boolean> | undefined;
  let state: TransactionState = "unproven";
  // A request of Workers must not wait for another one, which may be ended at any time.
  const takeTurn: TakeTurn = isolated ? (work) => work() : createTurns();

  /** Concurrent callers share one rollback test, except where requests are isolated. A test that throws has no result. */
  function makeProof(): Promise<boolean> {
    const make = () => retryLost(() => rollsBack(adapter));
    if (isolated) return make();
    proof ??= make().finally(() => {
      proof = undefined;
    });
    return proof;
  }

  return {
    state: () => state,
    async prove(refusal = REFUSAL) {
      if (state === "unproven") {
        if (proof === undefined && (await getCurrentAdapter(adapter)) !== adapter) {
          throw new FeatureFlagError("STORAGE_ERROR", `${refusal} ${NOT_INSIDE}`);
        }
        state = (await makeProof()) ? "ok" : "refused";
      }
      if (state === "refused") throw new FeatureFlagError("STORAGE_ERROR", `${refusal}: ${NO_ROLLBACK}`);
      state satisfies "ok";
    },
    async run(work) {
      const attempt = async (owner: DBAdapter) => {
        let isCommitting = false;
        try {
          return await runWithTransaction(owner, async () => {
            const result = await work(await getCurrentAdapter(owner));
            isCommitting = true;
            return result;
          });
        } catch (error) {
          throw isCommitting ? commitError(error) : error;
        }
      };
      const current = await getCurrentAdapter(adapter);
      if (current === adapter) return retryLost(() => attempt(ours), takeTurn);
      // Only the host can repeat its own transaction.
      await postgres?.limitWaits(current);
      return attempt(adapter);
    },
    tablesIn: (tx) => postgres?.tablesIn(tx),
  };
}

type TakeTurn = <Result>(work: () => Promise<Result>) => Promise<Result>;

/** Runs one work at a time, in the order of the calls. */
function createTurns(): TakeTurn {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const turn = last.then(work);
    last = turn.catch(() => {});
    return turn;
  };
}

/** Repeats work that the database refused because of a concurrent transaction. Not for use inside a transaction. */
export async function retryLost<Result>(
  work: () => Promise<Result>,
  takeTurn: TakeTurn = (alone) => alone(),
): Promise<Result> {
  const untilMs = performance.now() + WAIT_MS;
  for (let lost = 0; ; ) {
    try {
      return await (lost >= ATTEMPTS_BESIDE_OTHERS ? takeTurn(work) : work());
    } catch (error) {
      if (failedWith(error, LOST)) lost += 1;
      else if (!failedWith(error, WAITED)) throw error;
      else if (performance.now() >= untilMs) throw tryLater(BUSY, error);
      if (lost === MAX_ATTEMPTS) throw tryLater(BUSY, error);
      await sleep(Math.random() * (lost + 1) * RETRY_STEP_MS);
    }
  }
}

function failedWith(error: unknown, codes: ReadonlySet<unknown>): boolean {
  return causesOf(error).some(
    ({ code, errcode }) =>
      codes.has(code) || (codes === LOST && typeof errcode === "number" && (errcode & 0xff) === SQLITE_BUSY),
  );
}

async function rollsBack(adapter: DBAdapter): Promise<boolean> {
  if (adapter.options?.adapterConfig.transaction === false) return false;
  const model = "featureFlagRevision";
  const tenant = `rollback-proof-${crypto.randomUUID()}`;
  const where = [{ field: "tenant", value: tenant }];
  const failure = new Error("Fails on purpose: the row must disappear.");
  try {
    await runWithTransaction(adapter, async () => {
      const tx = await getCurrentAdapter(adapter);
      await tx.create<RevisionRow>({ model, data: firstRow(tenant, null) });
      throw failure;
    });
  } catch (error) {
    if (error !== failure) throw error;
  }
  if ((await adapter.findOne<RevisionRow>({ model, where })) === null) return true;
  await adapter.delete<RevisionRow>({ model, where });
  return false;
}
