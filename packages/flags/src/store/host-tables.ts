/**
 * Better Auth's tables by the names PostgreSQL knows them by, where Better Auth is on the very pool of the option
 * `postgres`. What is asked again and again is asked here: Better Auth's own way takes several times as long.
 */
import { type OwnClient, type OwnClientOptions, ownClient } from "./postgres-client.ts";
import { isMisunderstood, type PostgresPool, type PostgresRow, runQuery } from "./postgres-pool.ts";

/** What is used of Better Auth's context. */
export interface TableHost {
  readonly options: { readonly database?: unknown };
  readonly tables: Readonly<
    Record<string, { modelName: string; fields: Record<string, { fieldName?: string | undefined }> }>
  >;
}

export class HostTables {
  readonly #tables: TableHost["tables"];
  readonly #pool: PostgresPool;
  #isKnown = true;

  private constructor(tables: TableHost["tables"], pool: PostgresPool) {
    this.#tables = tables;
    this.#pool = pool;
  }

  static on({ options, tables }: TableHost, pool: PostgresPool | undefined): HostTables | undefined {
    return pool !== undefined && options.database === pool ? new HostTables(tables, pool) : undefined;
  }

  table(model: string): string {
    return quoted(this.#tables[model]?.modelName ?? model);
  }

  column(model: string, field: string): string {
    return quoted(this.#tables[model]?.fields[field]?.fieldName ?? field);
  }

  /** With its schema, as the pool's connections find it: the pool may set the schema in a way of its own. */
  async placeOf(model: string, timeoutMs: number): Promise<string> {
    const text =
      `select format('%I.%I', n.nspname, c.relname) as place from pg_class c ` +
      `join pg_namespace n on n.oid = c.relnamespace where c.oid = $1::regclass`;
    const [row] = await this.query(timeoutMs, text, [this.table(model)]);
    return String(row?.["place"]);
  }

  /** A connection of its own, beside the pool. */
  ownClient(options: OwnClientOptions): OwnClient {
    return ownClient(this.#pool, options);
  }

  /** A connection that does not answer in time is not used again. */
  query(timeoutMs: number, text: string, values: unknown[]): Promise<PostgresRow[]> {
    return runQuery(this.#pool, timeoutMs, { text, values });
  }

  /** From the first table on that PostgreSQL does not know, the ordinary way: Better Auth alone knows its names. */
  async ask<Answer>(quick: () => Promise<Answer>, ordinary: () => Promise<Answer>): Promise<Answer> {
    if (!this.#isKnown) return ordinary();
    try {
      return await quick();
    } catch (error) {
      if (!isMisunderstood(error)) throw error;
      this.#isKnown = false;
      return ordinary();
    }
  }
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
