/** A store on a real database, with nothing of the server around it. */
import type { DBAdapter } from "@better-auth/core/db/adapter";
import { type BetterAuthOptions, betterAuth } from "better-auth";
import { getMigrations } from "better-auth/db/migration";
import { Pool } from "pg";
import { SYSTEM } from "../../src/model/audit.ts";
import { FeatureFlagError } from "../../src/model/errors.ts";
import type { CreateFeatureFlagInput } from "../../src/model/flag.ts";
import { createTables } from "../../src/model/tables.ts";
import { HostTables } from "../../src/store/host-tables.ts";
import {
  createFlagStore,
  type FlagStore,
  type FlagStoreOptions,
  type WriteScope,
} from "../../src/store/store.ts";
import type { FreshDatabase } from "../databases.ts";

export type Database = BetterAuthOptions["database"];

/** How to reach one kind of database. */
export interface DatabaseKind {
  open(): Promise<FreshDatabase<Database>>;
  /** Puts another adapter than the built-in one over the driver; the tables are made by the built-in one. */
  adapt?(driver: Database, options: BetterAuthOptions): Database;
  /** The form of the ids that the host gives its rows. Absent: random text. */
  readonly generateId?: "uuid" | "serial";
  /** Whether what is asked again and again is asked of PostgreSQL itself. */
  readonly isAskedDirectly?: boolean;
}

export interface StoreHost {
  readonly adapter: DBAdapter;
  readonly store: FlagStore;
  readonly warnings: string[];
  /** Another store on a connection of its own, as another process would have. */
  another(options?: Partial<FlagStoreOptions>): Promise<Node>;
  close(): Promise<void>;
}

export interface Node {
  readonly adapter: DBAdapter;
  readonly store: FlagStore;
  readonly warnings: string[];
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
    const pool = kind.isAskedDirectly && database instanceof Pool ? database : undefined;
    const warnings: string[] = [];
    // Only the tests that are about it poll, so that nothing else is quick because of it.
    const store = createFlagStore(adapter, {
      pollMs: 0,
      tables: HostTables.on(context, pool),
      warn: (message) => warnings.push(message),
      ...options,
    });
    let isClosed = false;
    const node = {
      adapter,
      store,
      warnings,
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

export const flagInput = (fields: Partial<CreateFeatureFlagInput> = {}): CreateFeatureFlagInput => ({
  key: fresh("flag"),
  name: "N",
  type: "boolean",
  ...fields,
});

export const everyone = { conditions: [] };

/** What a call was refused with. */
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

/** The same database, with something happening between each read of several rows and the next. */
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
