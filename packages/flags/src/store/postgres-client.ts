/** A connection of its own beside the pool, for what belongs to a connection: what it listens to, its temporary tables. */
import type { PostgresPool, PostgresQuery, PostgresRows } from "./postgres-pool.ts";

/** A client of `pg` as it is used here. */
export type OwnClient = {
  connect(): Promise<unknown>;
  query(query: PostgresQuery): Promise<PostgresRows>;
  on(event: "error" | "end", listener: (error?: Error) => void): unknown;
  on(event: "notification", listener: (message: { payload?: string | undefined }) => void): unknown;
  end(): Promise<void>;
  unref(): void;
};

/** Found in every pool of `pg`, and not in its types. */
type WithClient = { readonly Client: new (options: object) => OwnClient };

export interface OwnClientOptions {
  readonly connectWithinMs: number;
  /** May be told more than once. */
  readonly lost: (client: OwnClient, error: unknown) => void;
}

/** Not yet connected, and keeps no process alive. */
export function ownClient(pool: PostgresPool, { connectWithinMs, lost }: OwnClientOptions): OwnClient {
  const { Client } = pool as unknown as WithClient;
  const client = new Client(optionsOf(pool, connectWithinMs));
  client.unref();
  // It may break at any time, and an event that nobody listens to would end the process.
  client.on("error", (error) => lost(client, error));
  client.on("end", () => lost(client, new Error("PostgreSQL closed the connection.")));
  return client;
}

/** A socket that nobody answers keeps a process alive until it is given up, by whoever connects it. */
function optionsOf({ options }: PostgresPool, connectWithinMs: number): object {
  // The password is not enumerable, so that nobody prints it.
  const own = Object.getOwnPropertyDescriptors(options);
  const connectionTimeoutMillis = { value: connectWithinMs, enumerable: true };
  return Object.create(null, { ...own, connectionTimeoutMillis });
}
