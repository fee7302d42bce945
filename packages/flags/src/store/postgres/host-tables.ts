/**
 * Queries Better Auth's tables on PostgreSQL directly, if its `database` is a pool. For frequent queries: Better Auth's
 * adapter takes several times as long.
 */
import {
  inTime,
  isMisunderstood,
  isPostgresPool,
  type PostgresClient,
  type PostgresPool,
  type PostgresQuery,
  type PostgresRow,
  runQuery,
} from "./pool.ts";

/** The part of Better Auth's context that is used. */
export interface TableHost {
  readonly options: { readonly database?: unknown };
  readonly tables: Readonly<
    Record<string, { modelName: string; fields: Record<string, { fieldName?: string | undefined }> }>
  >;
}

type Run = (timeoutMs: number, query: PostgresQuery) => Promise<PostgresRow[]>;

export class HostTables {
  readonly #tables: TableHost["tables"];
  readonly #run: Run;
  #isKnown = true;

  private constructor(tables: TableHost["tables"], run: Run) {
    this.#tables = tables;
    this.#run = run;
  }

  /** The pool leads to the host's database, although Better Auth may use another pool or adapter. */
  static of({ tables }: Pick<TableHost, "tables">, pool: PostgresPool): HostTables {
    return new HostTables(tables, (timeoutMs, query) => runQuery(pool, timeoutMs, query));
  }

  static on(host: TableHost): HostTables | undefined {
    const { database } = host.options;
    return isPostgresPool(database) ? HostTables.of(host, database) : undefined;
  }

  /** For queries in the transaction of a client. */
  static in({ tables }: Pick<TableHost, "tables">, client: PostgresClient): HostTables {
    return new HostTables(tables, async (timeoutMs, query) => {
      return (await inTime(client.query(query), timeoutMs)).rows;
    });
  }

  table(model: string): string {
    return quoted(this.#tables[model]?.modelName ?? model);
  }

  column(model: string, field: string): string {
    return quoted(this.#tables[model]?.fields[field]?.fieldName ?? field);
  }

  /** All columns of a model, each with the name of its field. */
  columns(model: string): string {
    const fields = Object.keys(this.#tables[model]?.fields ?? {});
    return fields.map((field) => `${this.column(model, field)} as ${quoted(field)}`).join(", ");
  }

  /** A connection that does not answer in time is not used again. */
  query(timeoutMs: number, text: string, values?: unknown[]): Promise<PostgresRow[]> {
    return this.#run(timeoutMs, { text, ...(values && { values }) });
  }

  /** The same with rows as arrays, which take less time for many rows. */
  async queryArrays(timeoutMs: number, text: string, values: unknown[]): Promise<unknown[][]> {
    const rows: unknown = await this.#run(timeoutMs, { text, values, rowMode: "array" });
    return rows as unknown[][];
  }

  /** After the first unknown table, column or operator, uses Better Auth's adapter, which knows names and types. */
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
