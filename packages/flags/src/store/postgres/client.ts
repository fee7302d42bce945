/** Opens a connection beside the pool, for state that belongs to one connection, such as LISTEN. */
import type { PostgresPool, PostgresQuery, PostgresRows } from "./pool.ts";

/** The part of a `pg` client that is used. */
export type OwnClient = {
  connect(): Promise<unknown>;
  query(query: PostgresQuery): Promise<PostgresRows>;
  on(event: "error" | "end", listener: (error?: Error) => void): unknown;
  on(event: "notification", listener: (message: { payload?: string | undefined }) => void): unknown;
  end(): Promise<void>;
  unref(): void;
};

/** Every `pg` pool has it, but its types do not. */
type WithClient = { readonly Client: new (options: object) => OwnClient };

interface OwnClientOptions {
  readonly connectWithinMs: number;
  /** May be called more than once for one connection. */
  readonly lost: (client: OwnClient, error: unknown) => void;
}

/** Creates a client that is not connected yet and does not keep the process alive. */
export function ownClient(pool: PostgresPool, { connectWithinMs, lost }: OwnClientOptions): OwnClient {
  const { Client } = pool as unknown as WithClient;
  const client = new Client(optionsOf(pool, connectWithinMs));
  client.unref();
  // An `error` event without a listener would end the process.
  client.on("error", (error) => lost(client, error));
  client.on("end", () => lost(client, new Error("PostgreSQL closed the connection.")));
  return client;
}

/** With a timeout, because a socket that gets no answer keeps the process alive until it times out. */
function optionsOf({ options }: PostgresPool, connectWithinMs: number): object {
  // Copies descriptors, because `pg` makes the password non-enumerable.
  const poolOptions = Object.getOwnPropertyDescriptors(options);
  const connectionTimeoutMillis = { value: connectWithinMs, enumerable: true };
  return Object.create(null, { ...poolOptions, connectionTimeoutMillis });
}
