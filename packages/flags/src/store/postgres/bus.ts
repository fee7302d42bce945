/** The notification bus over LISTEN and NOTIFY of PostgreSQL: listens on its own connection and notifies through the pool. */
import type { Bus, BusListener, BusState } from "../bus.ts";
import { later, within } from "../wait.ts";
import { type OwnClient, ownClient } from "./client.ts";
import { type PostgresPool, runQuery } from "./pool.ts";

export interface PostgresBusOptions {
  readonly pool: PostgresPool;
  readonly listener: BusListener;
  /** A process has sent a JSON object. */
  readonly received: (text: string) => void;
  /** False without background work: this process then only sends. */
  readonly listens: boolean;
  /** Called once per outage. */
  readonly warn: (message: string, error: unknown) => void;
}

const TIMEOUT_MS = 5000;
/** First delay before a reconnection attempt. It doubles up to `MAX_RETRY_MS`. */
const MIN_RETRY_MS = 100;
const MAX_RETRY_MS = 5000;
/** Interval of the query that tests the listening connection. */
const HEARTBEAT_MS = 15_000;
/** Tenants whose notification waits to be sent. */
const MAX_PENDING = 10_000;
/** In characters. PostgreSQL limits a notification to less than 8,000 bytes. */
const MAX_TENANT_LENGTH = 1000;

/** One channel per schema, because applications in other schemas have other flags. */
const CHANNEL = "'halyard_flag_' || md5(coalesce(current_schema(), ''))";

export function createPostgresBus({ pool, listener, received, listens, warn }: PostgresBusOptions): Bus {
  let state: BusState = listens ? "down" : "off";
  let client: OwnClient | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let attempts = 0;
  let isFailing = false;
  let isClosed = false;
  let pending = new Map<string, number>();
  let sending: Promise<void> | undefined;

  async function connect(): Promise<void> {
    let fresh: OwnClient | undefined;
    try {
      // Through the pool, because the host may set the schema of its connections there.
      const [row] = await runQuery(pool, TIMEOUT_MS, { text: `select ${CHANNEL} as channel` });
      if (isClosed) return;
      fresh = client = open();
      await inTime(fresh.connect());
      // TLS has replaced the socket since the first `unref`.
      fresh.unref();
      await inTime(fresh.query({ text: `listen "${row?.["channel"]}"` }));
      if (client !== fresh) return;
      state = "up";
      attempts = 0;
      isFailing = false;
      listener.connected();
      beat(fresh);
    } catch (error) {
      lose(fresh, error);
    }
  }

  function open(): OwnClient {
    const fresh = ownClient(pool, { connectWithinMs: TIMEOUT_MS, lost: lose });
    fresh.on("notification", ({ payload = "" }) => receive(payload));
    return fresh;
  }

  function beat(listening: OwnClient): void {
    timer = later(() => {
      inTime(listening.query({ text: "select 1" })).then(
        () => client === listening && beat(listening),
        (error: unknown) => lose(listening, error),
      );
    }, HEARTBEAT_MS);
  }

  /** `lost` is undefined if no connection was opened. */
  function lose(lost: OwnClient | undefined, error: unknown): void {
    if (client !== lost || isClosed) return;
    client = undefined;
    lost?.end().catch(() => undefined);
    state = "down";
    if (!isFailing)
      warn(
        "The PostgreSQL notification bus is down. Changes of other processes arrive by polling until it reconnects.",
        error,
      );
    isFailing = true;
    const longest = Math.min(MAX_RETRY_MS, MIN_RETRY_MS * 2 ** attempts);
    attempts += 1;
    clearTimeout(timer);
    // Jitter: all processes lose the connection at the same moment.
    timer = later(() => void connect(), longest * (0.5 + Math.random() / 2));
  }

  function receive(payload: string): void {
    if (payload.startsWith("{")) return received(payload);
    const colon = payload.indexOf(":");
    const revision = Number(payload.slice(0, colon));
    if (colon > 0 && Number.isSafeInteger(revision)) listener.changed(payload.slice(colon + 1), revision);
  }

  async function sendPending(): Promise<void> {
    while (pending.size > 0) {
      const messages = Array.from(pending, ([tenant, revision]) => `${revision}:${tenant}`);
      pending = new Map();
      await notify(messages);
    }
    sending = undefined;
  }

  /** Never rejects: polling covers a notification that fails. */
  async function notify(messages: readonly string[]): Promise<void> {
    const text = `select pg_notify(${CHANNEL}, message) from unnest($1::text[]) as message`;
    await runQuery(pool, TIMEOUT_MS, { text, values: [messages] }).catch(() => undefined);
  }

  if (listens) void connect();
  return {
    publish(tenant, revision) {
      if (isClosed || pending.size >= MAX_PENDING || tenant.length > MAX_TENANT_LENGTH) return;
      pending.set(tenant, Math.max(revision, pending.get(tenant) ?? 0));
      sending ??= sendPending();
    },
    send(text) {
      if (!isClosed) void notify([text]);
    },
    state: () => state,
    async close() {
      isClosed = true;
      state = "off";
      clearTimeout(timer);
      const open = client;
      client = undefined;
      await sending;
      if (open !== undefined) await inTime(open.end()).catch(() => undefined);
    },
  };
}

function inTime<Result>(work: Promise<Result>): Promise<Result> {
  return within(work, TIMEOUT_MS, "PostgreSQL did not answer in time.");
}
