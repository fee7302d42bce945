/** Better Auth's own pool of `pg`, for queries that its adapter cannot make. */
import { within } from "@halyard/base";
import type { HostContext } from "../identify/request.ts";
import { READING_TIMEOUT_MS } from "./session-reader.ts";

export type PoolRow = { readonly at?: unknown; readonly version?: unknown };

/** The members of a pool of `pg` that are used. */
interface Pool {
  query(text: string, values: unknown[]): Promise<{ readonly rows: readonly PoolRow[] }>;
}

/** Errors of PostgreSQL for names and types that it does not know, and for what it does not support. */
const NOT_SUPPORTED = /^(42|0A)...$/;
/** No transaction has this number: the table is not one of PostgreSQL's own. */
const NO_VERSION = /(^|,)0(,|$)/;

export class HostPool {
  readonly #pool: Pool;
  readonly #tables: HostContext["tables"];

  private constructor(pool: Pool, tables: HostContext["tables"]) {
    this.#pool = pool;
    this.#tables = tables;
  }

  /** Undefined where the database is not PostgreSQL, or not reached by a pool of `pg`. */
  static of({ options, tables }: Pick<HostContext, "options" | "tables">): HostPool | undefined {
    const { database } = options;
    return isPool(database) ? new HostPool(database, tables) : undefined;
  }

  table(model: string): string {
    return quoted(this.#tables[model]?.modelName ?? model);
  }

  column(alias: string, model: string, field: string): string {
    return `${alias}.${quoted(this.#tables[model]?.fields[field]?.fieldName ?? field)}`;
  }

  async query(text: string, values: unknown[]): Promise<readonly PoolRow[]> {
    const message = `The database did not respond within ${READING_TIMEOUT_MS} ms.`;
    return (await within(this.#pool.query(text, values), READING_TIMEOUT_MS, message)).rows;
  }
}

/** False for the version of a view, or of another table that is not PostgreSQL's own. */
export function isVersion(text: string): boolean {
  return !NO_VERSION.test(text);
}

/** Whether PostgreSQL does not know a table or a column by its name. */
export function isNotSupported(error: unknown): boolean {
  const code: unknown = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" && NOT_SUPPORTED.test(code);
}

function isPool(database: unknown): database is Pool {
  if (typeof database !== "object" || database === null) return false;
  const { query, connect, options, Client } = database as Partial<Record<string, unknown>>;
  return (
    typeof query === "function" &&
    typeof connect === "function" &&
    typeof options === "object" &&
    typeof Client === "function"
  );
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
