/**
 * Transactions on a client of the host's pool, with Better Auth's adapter bound to it. Better Auth's own do not show their
 * client, so they could have no timeouts.
 */
import type { DBAdapter, DBTransactionAdapter } from "@better-auth/core/db/adapter";
import type { BetterAuthOptions } from "better-auth";
import { getAdapter } from "better-auth/db/adapter";
import { FeatureFlagError } from "../../model/errors.ts";
import { HostTables, type TableHost } from "./host-tables.ts";
import {
  connect,
  inTime,
  isAnswer,
  type PostgresClient,
  type PostgresPool,
  type PostgresRows,
  PostgresTimeout,
} from "./pool.ts";

/** The part of Better Auth's context that is used. */
export type TransactionHost = Pick<TableHost, "tables"> & { readonly options: BetterAuthOptions };

type Work<Result> = (tx: DBTransactionAdapter) => Promise<Result>;

/** A longer wait for another writer ends with an error, and is repeated. */
const LOCK_TIMEOUT = "set local lock_timeout = '2s'";
/** PostgreSQL ends the transaction of a process that is frozen or cut off for so long, and frees its locks. */
const BEGIN = `begin; ${LOCK_TIMEOUT}; set local idle_in_transaction_session_timeout = '3s'`;
/** The code of an error: the connection broke before the commit, so the work can be repeated. */
export const LOST_TRANSACTION = "LOST_TRANSACTION";
const LOST_MESSAGE = "The connection to the database broke inside a transaction. Nothing was changed.";
/** Timeout of a transaction, of a wait for its client, and of its rollback. */
const TIMEOUT_MS = 10_000;

const UNKNOWN_OUTCOME =
  "The connection to the database broke during the commit, so the change may or may not be stored. Read it, and repeat the change if it is missing.";

export class PostgresTransactions {
  readonly #host: TransactionHost;
  readonly #pool: PostgresPool;
  readonly #adapters = new WeakMap<PostgresClient, Promise<DBAdapter>>();
  readonly #clients = new WeakMap<object, PostgresClient>();

  constructor(host: TransactionHost, pool: PostgresPool) {
    this.#host = host;
    this.#pool = pool;
  }

  /** A transaction of the host, which may take as long as the host likes. */
  async open<Result>(work: Work<Result>): Promise<Result> {
    return this.#run(await this.#pool.connect(), "begin", work, (steps) => steps);
  }

  /** A transaction of a write. Fails in bounded time, even if PostgreSQL can no longer be reached. */
  async write<Result>(work: Work<Result>): Promise<Result> {
    const client = await connect(this.#pool, TIMEOUT_MS);
    return this.#run(client, BEGIN, work, (steps) => inTime(steps, TIMEOUT_MS));
  }

  /** Limits the waits for locks in a transaction of the host. */
  async limitWaits(tx: object): Promise<void> {
    await this.#clients.get(tx)?.query({ text: LOCK_TIMEOUT });
  }

  /** The tables as the transaction sees them. Undefined if it was not opened here. */
  tablesIn(tx: object): HostTables | undefined {
    const client = this.#clients.get(tx);
    return client && HostTables.in(this.#host, client);
  }

  async #run<Result>(
    client: PostgresClient,
    begin: string,
    work: Work<Result>,
    bounded: (steps: Promise<Result>) => Promise<Result>,
  ): Promise<Result> {
    let fault: Error | undefined;
    const note = (error: Error) => {
      fault ??= error;
    };
    client.on("error", note);
    const progress = { isOpen: false, isCommitting: false };
    const steps = async (): Promise<Result> => {
      const tx = await this.#bind(client);
      await client.query({ text: begin });
      progress.isOpen = true;
      const result = await work(tx);
      progress.isCommitting = true;
      const { command }: PostgresRows & { command?: string } = await client.query({ text: "commit" });
      if (command === "ROLLBACK") throw new Error("A statement had failed, so PostgreSQL rolled back.");
      return result;
    };
    try {
      return await bounded(steps());
    } catch (error) {
      if (error instanceof PostgresTimeout) note(error);
      if (fault === undefined) await inTime(client.query({ text: "rollback" }), TIMEOUT_MS).catch(note);
      const isExplained = isAnswer(error) || error instanceof FeatureFlagError;
      if (fault === undefined || isExplained || begin !== BEGIN) throw error;
      if (progress.isCommitting) {
        throw new FeatureFlagError("STORAGE_ERROR", UNKNOWN_OUTCOME, { cause: fault });
      }
      if (!progress.isOpen || error instanceof PostgresTimeout) throw error;
      throw Object.assign(new Error(LOST_MESSAGE, { cause: fault }), { code: LOST_TRANSACTION });
    } finally {
      client.removeListener("error", note);
      client.release(fault);
    }
  }

  async #bind(client: PostgresClient): Promise<DBTransactionAdapter> {
    const adapter =
      this.#adapters.get(client) ?? getAdapter({ ...this.#host.options, database: only(client) });
    this.#adapters.set(client, adapter);
    // A copy, because code that watches the writes of a transaction replaces methods of its adapter.
    const { transaction: _, ...tx } = await adapter;
    this.#clients.set(tx, client);
    return tx;
  }
}

/** A pool of this client, which stays taken. */
function only(client: PostgresClient): BetterAuthOptions["database"] {
  const connection = {
    query: (text: string, values: unknown[]) => client.query({ text, values }),
    release: () => undefined,
  };
  return {
    connect: async () => connection,
    end: async () => undefined,
  } as unknown as BetterAuthOptions["database"];
}
