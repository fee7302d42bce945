/** Opens a store on a real database without the server. */
import type { DBAdapter } from "@better-auth/core/db/adapter";
import { type BetterAuthOptions, betterAuth } from "better-auth";
import { getMigrations } from "better-auth/db/migration";
import { Pool } from "pg";
import { SYSTEM } from "../../src/model/audit.ts";
import { FeatureFlagError } from "../../src/model/errors.ts";
import type { FlagDraft } from "../../src/model/flag.ts";
import { createTables } from "../../src/model/tables.ts";
import type { FlagStore, WriteScope } from "../../src/store/flag-store.ts";
import { HostTables } from "../../src/store/postgres/host-tables.ts";
import { PostgresTransactions } from "../../src/store/postgres/transactions.ts";
import { createFlagStore, type FlagStoreOptions } from "../../src/store/store.ts";
import {
  type CountedChanges,
  type Counts,
  readCounted,
  readCountedDirectly,
} from "../../src/store/writes/change-counter.ts";
import { createTransactions } from "../../src/store/writes/transaction.ts";
import type { FreshDatabase } from "../databases.ts";

export type Database = BetterAuthOptions["database"];

/** Access to one kind of database. */
export interface DatabaseKind {
  open(): Promise<FreshDatabase<Database>>;
  /** Replaces the built-in adapter. The built-in adapter still creates the tables. */
  adapt?(driver: Database, options: BetterAuthOptions): Database;
  /** The form of the host's row ids. Default: random text. */
  readonly generateId?: "uuid" | "serial";
  /** Whether frequent queries go to PostgreSQL without the adapter. */
  readonly isAskedDirectly?: boolean;
}

export interface StoreHost {
  readonly adapter: DBAdapter;
  readonly store: FlagStore;
  readonly warnings: string[];
  readCounted(since: Counts): Promise<CountedChanges>;
  /** Opens another store with its own connection, like another process. */
  another(options?: Partial<FlagStoreOptions>): Promise<Node>;
  close(): Promise<void>;
}

export interface Node {
  readonly adapter: DBAdapter;
  readonly store: FlagStore;
  readonly warnings: string[];
  readCounted(since: Counts): Promise<CountedChanges>;
  close(): Promise<void>;
}

const optionsFor = (database: Database, { generateId }: DatabaseKind): BetterAuthOptions => ({
  database,
  ...(generateId !== undefined && { advanced: { database: { generateId } } }),
  secret: "a secret that is only good enough for tests, which is all it does",
  logger: { disabled: true },
  telemetry: { enabled: false },
  plugins: [{ id: "feature-flags", schema: createTables() }],
});

export async function openStoreHost(kind: DatabaseKind): Promise<StoreHost> {
  const db = await kind.open();
  const nodes: Node[] = [];

  async function another(options: Partial<FlagStoreOptions> = {}): Promise<Node> {
    const { database, close } = db.connect();
    const native = optionsFor(database, kind);
    if (nodes.length === 0) await (await getMigrations(native)).runMigrations();
    const auth = betterAuth(kind.adapt ? optionsFor(kind.adapt(database, native), kind) : native);
    const context = await auth.$context;
    const adapter = context.adapter as DBAdapter;
    const tables = kind.isAskedDirectly ? HostTables.on(context) : undefined;
    const transactions =
      !kind.adapt && database instanceof Pool ? new PostgresTransactions(context, database) : undefined;
    if (transactions !== undefined) adapter.transaction = (work) => transactions.open(work);
    const warnings: string[] = [];
    // Only tests of polling poll, so that polling does not hide a missing refresh.
    const store = createFlagStore(adapter, {
      pollMs: 0,
      tables,
      transactions: createTransactions(adapter, transactions),
      warn: (message) => warnings.push(message),
      ...options,
    });
    let isClosed = false;
    const node = {
      adapter,
      store,
      warnings,
      readCounted: (since: Counts) =>
        tables === undefined ? readCounted(adapter, since) : readCountedDirectly(tables, since),
      async close() {
        if (isClosed) return;
        isClosed = true;
        await store.close();
        await close();
      },
    };
    nodes.push(node);
    return node;
  }

  const first = await another();
  return {
    ...first,
    another,
    async close() {
      for (const node of nodes) await node.close();
      await db.drop();
    },
  };
}

let count = 0;
/** A name that no other test uses, for a tenant or a key. */
export const fresh = (name: string): string => `${name}-${++count}`;

export const by = (tenant: string): WriteScope => ({ tenant, actor: SYSTEM, origin: {} });

export const flagInput = (fields: Partial<FlagDraft> = {}): FlagDraft => ({
  key: fresh("flag"),
  name: "N",
  type: "boolean",
  ...fields,
});

export const everyone = { conditions: [] };

/** The entity as it is stored, without the warnings of the write. */
export function stored<Entity extends { readonly warnings?: unknown }>(
  written: Entity,
): Omit<Entity, "warnings"> {
  const { warnings: _, ...entity } = written;
  return entity;
}

/** The error of a refused call. */
export async function refusalOf(
  call: Promise<unknown>,
): Promise<Pick<FeatureFlagError, "code" | "status" | "details" | "message">> {
  try {
    await call;
  } catch (error) {
    if (error instanceof FeatureFlagError) return error;
    throw error;
  }
  throw new Error("The call was not refused.");
}

/** Wraps an adapter and calls `happens` after every `findMany`. */
export function afterEveryRead(adapter: DBAdapter, happens: (model: string) => Promise<void>): DBAdapter {
  return {
    ...adapter,
    async findMany<Row>(query: Parameters<DBAdapter["findMany"]>[0]) {
      const rows = await adapter.findMany<Row>(query);
      await happens(query.model);
      return rows;
    },
  };
}
