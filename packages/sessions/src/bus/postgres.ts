/** Carries announcements over LISTEN and NOTIFY of PostgreSQL. */
import { later, within } from "../callers/deadline.ts";
import type { SessionBus, SessionBusListener } from "./bus.ts";

export type { SessionBus, SessionBusListener } from "./bus.ts";

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

/** The options of `postgresSessionBus`. */
export interface PostgresSessionBusOptions {
  /** The channel, a plain identifier. Applications that share a database need different ones. Default `halyard_sessions`. */
  readonly channel?: string;
}

const DEFAULT_CHANNEL = "halyard_sessions";
const CHANNEL = /^[a-z_][a-z0-9_]{0,62}$/;
const TIMEOUT_MS = 5000;
const MIN_RETRY_MS = 100;
const MAX_RETRY_MS = 5000;
/** Interval of the query that tests the listening connection. */
const HEARTBEAT_MS = 15_000;

/**
 * A bus over PostgreSQL, for `connectSessions` or the option `bus` of `betterAuthSession`. It keeps one connection of the
 * pool for LISTEN, which must not go through a pooler in transaction mode.
 *
 * @example
 * ```ts
 * import { connectSessions } from "@halyard/sessions";
 * import { postgresSessionBus } from "@halyard/sessions/postgres";
 * import { betterAuth } from "better-auth";
 * import { Pool } from "pg";
 *
 * const pool = new Pool();
 * const auth = betterAuth({ database: pool });
 * await connectSessions(auth, postgresSessionBus(pool));
 * ```
 */
export function postgresSessionBus(pool: PostgresPool, options: PostgresSessionBusOptions = {}): SessionBus {
  const { channel = DEFAULT_CHANNEL } = options;
  if (!CHANNEL.test(channel))
    throw new TypeError(
      `The channel "${channel}" is not a plain identifier of PostgreSQL. Use lower-case letters, digits and underscores.`,
    );
  return {
    async publish(message) {
      await inTime(pool.query("select pg_notify($1, $2)", [channel, message]));
    },
    subscribe: (listener) => listen(pool, channel, listener),
  };
}

function listen(pool: PostgresPool, channel: string, listener: SessionBusListener): () => void {
  let client: PostgresClient | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let attempts = 0;
  let isStopped = false;

  async function connect(): Promise<void> {
    let fresh: PostgresClient | undefined;
    try {
      fresh = await pool.connect();
      if (isStopped) return fresh.release(true);
      client = fresh;
      const connected = fresh;
      connected.on("error", () => lose(connected));
      connected.on("end", () => lose(connected));
      connected.on("notification", ({ payload = "" }: { payload?: string }) => listener.received(payload));
      await inTime(connected.query(`listen ${channel}`));
      attempts = 0;
      // Notifications before this one were not received.
      listener.missed();
      beat(connected);
    } catch {
      if (fresh === undefined) retry();
      else lose(fresh);
    }
  }

  function beat(listening: PostgresClient): void {
    timer = later(() => {
      inTime(listening.query("select 1")).then(
        () => client === listening && beat(listening),
        () => lose(listening),
      );
    }, HEARTBEAT_MS);
  }

  function lose(lost: PostgresClient): void {
    if (client !== lost) return;
    client = undefined;
    lost.release(true);
    retry();
  }

  function retry(): void {
    clearTimeout(timer);
    if (isStopped) return;
    const longestMs = Math.min(MAX_RETRY_MS, MIN_RETRY_MS * 2 ** attempts);
    attempts += 1;
    // Jitter: all processes lose the connection at the same moment.
    timer = later(() => void connect(), longestMs * (0.5 + Math.random() / 2));
  }

  void connect();
  return () => {
    isStopped = true;
    clearTimeout(timer);
    const open = client;
    client = undefined;
    open?.release(true);
  };
}

function inTime<Result>(work: Promise<Result>): Promise<Result> {
  return within(work, TIMEOUT_MS, `PostgreSQL did not respond within ${TIMEOUT_MS} ms.`);
}
