/** The bus of the option `postgres`: notifies through the pool, and listens on a connection of its own. */
import { type Bus, ignore } from "@halyard/base";
import { type ListeningConnection, notificationBus } from "@halyard/base/postgres";
import { type PostgresPool, type PostgresRows, runQuery } from "./pool.ts";

const TIMEOUT_MS = 5000;

/** The part of a `pg` client that is used. */
type OwnClient = {
  connect(): Promise<unknown>;
  query(text: string): Promise<PostgresRows>;
  on(event: string, listener: (event: never) => void): unknown;
  end(): Promise<void>;
  unref(): void;
};

/** Every `pg` pool has it, but its types do not. */
type WithClient = { readonly Client: new (options: object) => OwnClient };

export function createPostgresBus(pool: PostgresPool): Bus {
  let channel: string | undefined;
  return notificationBus({
    /**
     * One channel per schema, because applications in other schemas have other flags. Through the pool, because the host
     * may set the schema of its connections there.
     */
    async channel() {
      const text = "select 'halyard_flag_' || md5(coalesce(current_schema(), '')) as channel";
      const [row] = channel === undefined ? await runQuery(pool, TIMEOUT_MS, { text }) : [];
      channel ??= String(row?.["channel"]);
      return channel;
    },
    query: (text, values) => runQuery(pool, TIMEOUT_MS, { text, values }),
    open: () => openOwn(pool),
  });
}

/** Opens a connection beside the pool, which does not keep the process alive. */
async function openOwn(pool: PostgresPool): Promise<ListeningConnection> {
  const { Client } = pool as unknown as WithClient;
  const client = new Client(optionsOf(pool));
  const close = () => void client.end().catch(ignore);
  // An `error` event without a listener would end the process.
  client.on("error", ignore);
  client.unref();
  try {
    await client.connect();
  } catch (error) {
    close();
    throw error;
  }
  // TLS has replaced the socket since the first `unref`.
  client.unref();
  return { query: (text) => client.query(text), on: (event, listener) => client.on(event, listener), close };
}

/** With a timeout, because a socket that gets no answer keeps the process alive until it times out. */
function optionsOf({ options }: PostgresPool): object {
  // Copies descriptors, because `pg` makes the password non-enumerable.
  const poolOptions = Object.getOwnPropertyDescriptors(options);
  const connectionTimeoutMillis = { value: TIMEOUT_MS, enumerable: true };
  return Object.create(null, { ...poolOptions, connectionTimeoutMillis });
}
