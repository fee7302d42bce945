/** Entry point `@halyard/base/postgres`: receives notifications of PostgreSQL, and carries a bus over them. */
import type { Bus, BusListener } from "./bus.ts";
import { later } from "./clock.ts";
import { ignore, within } from "./waits.ts";

/** The members of a pool of `pg` that are used. */
export interface PostgresPool {
  /** Runs a query on any connection. */
  query(text: string, values: unknown[]): Promise<unknown>;
  /** Takes a connection out of the pool. */
  connect(): Promise<PostgresClient>;
}

/** The members of a connection of `pg` that are used. */
export interface PostgresClient {
  /** Runs a query on this connection. */
  query(text: string): Promise<unknown>;
  /** Adds a listener. */
  on(event: string, listener: (event: never) => void): unknown;
  /** Returns the connection to the pool; true closes it instead. */
  release(destroy?: boolean): void;
}

/** A connection that is used for LISTEN alone. */
export interface ListeningConnection extends Pick<PostgresClient, "query" | "on"> {
  /** Closes it, whatever its state. */
  close(): void;
}

/** What is listened to, and how. */
export interface Listening {
  /** The name of the channel, any text. Asked for at each connection until it is known. */
  channel(): Promise<string>;
  /** Opens a connection that goes through no pooler in transaction mode. */
  open(): Promise<ListeningConnection>;
}

/** What carries a bus over notifications. */
export interface NotificationCarrier extends Listening {
  /** Runs a query on any connection, in bounded time. */
  query(text: string, values: unknown[]): Promise<unknown>;
}

const PLAIN_NAME = /^[a-z_][a-z0-9_]{0,62}$/;
const TIMEOUT_MS = 5000;
/** First delay before a reconnection attempt. It doubles up to `MAX_RETRY_MS`. */
const MIN_RETRY_MS = 100;
const MAX_RETRY_MS = 5000;
/** Interval of the query that tests the listening connection. */
const HEARTBEAT_MS = 15_000;

/** A bus over LISTEN and NOTIFY. It keeps one connection of the pool. `channel` is a plain identifier. */
export function postgresBus(pool: PostgresPool, channel: string): Bus {
  if (!PLAIN_NAME.test(channel))
    throw new TypeError(
      `The channel "${channel}" is not a plain identifier of PostgreSQL. Use lower-case letters, digits and underscores.`,
    );
  return notificationBus({
    channel: async () => channel,
    query: (text, values) => inTime(pool.query(text, values)),
    async open() {
      const client = await pool.connect();
      return {
        query: (text) => client.query(text),
        on: (event, listener) => client.on(event, listener),
        close: () => client.release(true),
      };
    },
  });
}

/** A bus over notifications, however they are sent and received. */
export function notificationBus({ query, ...listening }: NotificationCarrier): Bus {
  return {
    async publish(message) {
      await query("select pg_notify($1, $2)", [await listening.channel(), message]);
    },
    subscribe: (listener) => listen(listening, listener),
  };
}

/** Receives the notifications of a channel, and connects again after each loss. Returns a function that stops. */
export function listen({ channel, open }: Listening, listener: BusListener): () => void {
  let current: ListeningConnection | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let attempts = 0;
  let isReported = false;
  let isStopped = false;

  async function connect(): Promise<void> {
    let fresh: ListeningConnection | undefined;
    try {
      const name = await channel();
      const connection = await inTime(open(), (late) => late.close());
      if (isStopped) return connection.close();
      fresh = current = connection;
      connection.on("error", (error: unknown) => lose(connection, error));
      connection.on("end", () => lose(connection, new Error("PostgreSQL closed the connection.")));
      connection.on("notification", ({ payload = "" }: { payload?: string }) => {
        if (current === connection) listener.received(payload);
      });
      await inTime(connection.query(`listen "${name.replaceAll('"', '""')}"`));
      if (current !== connection) return;
      attempts = 0;
      isReported = false;
      // Notifications before this one were not received.
      listener.missed();
      beat(connection);
    } catch (error) {
      lose(fresh, error);
    }
  }

  function beat(connection: ListeningConnection): void {
    timer = later(() => {
      inTime(connection.query("select 1")).then(
        () => current === connection && beat(connection),
        (error: unknown) => lose(connection, error),
      );
    }, HEARTBEAT_MS);
  }

  /** `connection` is undefined when none could be opened. */
  function lose(connection: ListeningConnection | undefined, error: unknown): void {
    if (isStopped || current !== connection) return;
    current = undefined;
    connection?.close();
    if (!isReported) listener.lost?.(error);
    isReported = true;
    clearTimeout(timer);
    const longestMs = Math.min(MAX_RETRY_MS, MIN_RETRY_MS * 2 ** attempts);
    attempts += 1;
    // Jitter: all processes lose the connection at the same moment.
    timer = later(() => void connect(), longestMs * (0.5 + Math.random() / 2));
  }

  void connect();
  return () => {
    isStopped = true;
    clearTimeout(timer);
    current?.close();
    current = undefined;
  };
}

function inTime<Result>(work: Promise<Result>, tooLate: (result: Result) => void = ignore): Promise<Result> {
  return within(work, TIMEOUT_MS, `PostgreSQL did not respond within ${TIMEOUT_MS} ms.`, { tooLate });
}
