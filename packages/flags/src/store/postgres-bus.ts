/** The bus over PostgreSQL's LISTEN and NOTIFY: a connection of its own that listens, the pool for what is said. */
import type { Bus, BusListener, BusState } from "./bus.ts";
import { type OwnClient, ownClient } from "./postgres-client.ts";
import { type PostgresPool, runQuery } from "./postgres-pool.ts";
import { later, within } from "./wait.ts";

export interface PostgresBusOptions {
  readonly pool: PostgresPool;
  readonly listener: BusListener;
  /** False where there is no background work: this node then only tells others. */
  readonly listens: boolean;
  /** Told once per outage. */
  readonly warn: (message: string, error: unknown) => void;
}

const TIMEOUT_MS = 5000;
/** The first wait after the connection broke; it doubles up to the longest. */
const MIN_RETRY_MS = 100;
const MAX_RETRY_MS = 5000;
/** How often a connection that says nothing is asked whether it is still there. */
const HEARTBEAT_MS = 15_000;
/** Tenants that wait to be told of. */
const MAX_PENDING = 10_000;
/** PostgreSQL takes messages of less than 8,000 bytes. */
const MAX_TENANT_LENGTH = 1000;

/** One channel per schema: an application in another schema has other flags. */
const CHANNEL = "'halyard_flag_' || md5(coalesce(current_schema(), ''))";

export function createPostgresBus({ pool, listener, listens, warn }: PostgresBusOptions): Bus {
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
      // By the pool, which may set the schema of its connections in a way of its own.
      const [row] = await runQuery(pool, TIMEOUT_MS, { text: `select ${CHANNEL} as channel` });
      if (isClosed) return;
      fresh = client = open();
      await inTime(fresh.connect());
      // With TLS, this is another socket than before.
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
    fresh.on("notification", ({ payload = "" }) => hear(payload));
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

  /** `lost` is undefined when there was not even a connection to lose. */
  function lose(lost: OwnClient | undefined, error: unknown): void {
    if (client !== lost || isClosed) return;
    client = undefined;
    lost?.end().catch(() => undefined);
    state = "down";
    if (!isFailing) warn("The bus is down: changes made elsewhere arrive by polling until it is up.", error);
    isFailing = true;
    const longest = Math.min(MAX_RETRY_MS, MIN_RETRY_MS * 2 ** attempts);
    attempts += 1;
    clearTimeout(timer);
    // All nodes lose it at the same moment, and need not return at the same moment.
    timer = later(() => void connect(), longest * (0.5 + Math.random() / 2));
  }

  function hear(payload: string): void {
    const colon = payload.indexOf(":");
    const revision = Number(payload.slice(0, colon));
    if (colon > 0 && Number.isSafeInteger(revision)) listener.changed(payload.slice(colon + 1), revision);
  }

  async function send(): Promise<void> {
    while (pending.size > 0) {
      const messages = Array.from(pending, ([tenant, revision]) => `${revision}:${tenant}`);
      pending = new Map();
      const text = `select pg_notify(${CHANNEL}, message) from unnest($1::text[]) as message`;
      // Whoever is not told learns of it by polling.
      await runQuery(pool, TIMEOUT_MS, { text, values: [messages] }).catch(() => undefined);
    }
    sending = undefined;
  }

  if (listens) void connect();
  return {
    publish(tenant, revision) {
      if (isClosed || pending.size >= MAX_PENDING || tenant.length > MAX_TENANT_LENGTH) return;
      pending.set(tenant, Math.max(revision, pending.get(tenant) ?? 0));
      sending ??= send();
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
