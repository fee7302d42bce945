/**
 * Transactions on a client of the host's pool, with Better Auth's adapter bound to it. Better Auth's own do not show their
 * client, so they could have no timeouts.
 */
import type { DBAdapter, DBTransactionAdapter } from "@better-auth/core/db/adapter";
import type { BetterAuthOptions } from "better-auth";
import { getAdapter } from "better-auth/db/adapter";
import { FeatureFlagError } from "../../model/errors.ts";
import { causesOf } from "../causes.ts";
import { unknownOutcome } from "../unavailable.ts";
import { HostTables, type TableHost } from "./host-tables.ts";
import {
  connect,
  inTime,
  isAnswer,
  type PostgresClient,
  type PostgresPool,
  type PostgresQuery,
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
/** Timeout of a statement of a write, of a wait for its client, and of any rollback. */
const TIMEOUT_MS = 10_000;

export class PostgresTransactions {
  readonly #host: TransactionHost;
  readonly #pool: PostgresPool;
  readonly #timeoutMs: number;
  readonly #adapters = new WeakMap<PostgresClient, DBAdapter>();
  readonly #clients = new WeakMap<object, PostgresClient>();
  /** Clients in the transaction of a write, whose statements have the timeout. */
  readonly #writing = new WeakSet<PostgresClient>();

  constructor(host: TransactionHost, pool: PostgresPool, timeoutMs: number = TIMEOUT_MS) {
    this.#host = host;
    this.#pool = pool;
    this.#timeoutMs = timeoutMs;
  }

  /** A transaction of the host, which may take as long as the host likes. */
  async open<Result>(work: Work<Result>): Promise<Result> {
    return this.#run(await this.#pool.connect(), "begin", work);
  }

  /** A transaction of a write. Each statement fails in bounded time, even if PostgreSQL can no longer be reached. */
  async write<Result>(work: Work<Result>): Promise<Result> {
    const client = await connect(this.#pool, this.#timeoutMs);
    this.#writing.add(client);
    return this.#run(client, BEGIN, work);
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

  #ask(client: PostgresClient, query: PostgresQuery): Promise<PostgresRows & { command?: string }> {
    const asked = client.query(query);
    return this.#writing.has(client) ? inTime(asked, this.#timeoutMs) : asked;
  }

  async #run<Result>(client: PostgresClient, begin: string, work: Work<Result>): Promise<Result> {
    let fault: Error | undefined;
    const note = (error: Error) => {
      fault ??= error;
    };
    client.on("error", note);
    const progress = { isOpen: false, isCommitting: false };
    try {
      const tx = await this.#bind(client);
      await this.#ask(client, { text: begin });
      progress.isOpen = true;
      const result = await work(tx);
      progress.isCommitting = true;
      const { command } = await this.#ask(client, { text: "commit" });
      if (command === "ROLLBACK") throw new Error("A statement had failed, so PostgreSQL rolled back.");
      return result;
    } catch (error) {
      const late = causesOf(error).find((cause) => cause instanceof PostgresTimeout);
      if (late !== undefined) note(late);
      if (fault === undefined) await inTime(client.query({ text: "rollback" }), this.#timeoutMs).catch(note);
      const isExplained = isAnswer(error) || error instanceof FeatureFlagError;
      if (fault === undefined || isExplained || begin !== BEGIN) throw error;
      if (progress.isCommitting) throw unknownOutcome(fault);
      if (!progress.isOpen || late !== undefined) throw error;
      throw Object.assign(new Error(LOST_MESSAGE, { cause: fault }), { code: LOST_TRANSACTION });
    } finally {
      this.#writing.delete(client);
      client.removeListener("error", note);
      client.release(fault);
    }
  }

  async #bind(client: PostgresClient): Promise<DBTransactionAdapter> {
    const database = only((query) => this.#ask(client, query));
    const adapter = this.#adapters.get(client) ?? (await getAdapter({ ...this.#host.options, database }));
    this.#adapters.set(client, adapter);
    // A copy, because code that watches the writes of a transaction replaces methods of its adapter.
    const { transaction: _, ...tx } = adapter;
    this.#clients.set(tx, client);
    return tx;
  }
}

/** A pool of one client, which stays taken. */
function only(ask: PostgresClient["query"]): BetterAuthOptions["database"] {
  const connection = {
    query: (text: string, values: unknown[]) => ask({ text, values }),
    release: () => undefined,
  };
  return {
    connect: async () => connection,
    end: async () => undefined,
  } as unknown as BetterAuthOptions["database"];
}
