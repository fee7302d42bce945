/** Announces changes of flags on a bus of short texts. Losses and failures are allowed: polling finds what the bus misses. */
import { type Bus, type BusPubSub, packMessages, pubSubBus } from "@halyard/base";
import { postgresBus as busOver, type PostgresPool } from "@halyard/base/postgres";
import type { AnnouncementListener, Announcer, BusState } from "../store/announcer.ts";
import { mistake } from "./help.ts";

export type { BusPubSub as FlagsPubSub, BusSubscriber as FlagsSubscriber } from "@halyard/base";

/** What carries announcements of changes between processes: `postgresBus()`, `redisBus()`, or a pub/sub of `@halyard/wire`. */
export type FeatureFlagsBus = Bus | BusPubSub;

/** The options of `postgresBus`. */
export interface PostgresBusOptions {
  /** The channel, a plain identifier. Applications that share a database need different ones. Default `halyard_flags`. */
  readonly channel?: string | undefined;
}

/**
 * A bus over LISTEN and NOTIFY of PostgreSQL, for the option `bus`. It keeps one connection of the pool, which must not go
 * through a pooler in transaction mode. With the option `postgres`, flags have such a bus already.
 *
 * @example
 * ```ts
 * import { featureFlags, postgresBus } from "@halyard/flags";
 * import { Pool } from "pg";
 *
 * featureFlags({ bus: postgresBus(new Pool()) });
 * ```
 */
export function postgresBus(pool: PostgresPool, options: PostgresBusOptions = {}): Bus {
  return busOver(pool, options.channel ?? "halyard_flags");
}

/** Throws a `TypeError` for a value that is not a bus. */
export function checkBus(path: string, value: unknown): void {
  const { publish, subscribe } = (value ?? {}) as Partial<Record<string, unknown>>;
  if (typeof publish === "function" && typeof subscribe === "function") return;
  throw mistake(
    `${path} is not a bus. Set it to postgresBus(pool), redisBus(client) or a pub/sub of @halyard/wire.`,
  );
}

/** Applications cannot use topics that begin with `$`. */
const TOPIC = "$halyard:flags";
/** In characters, of a message that is read. */
const MAX_MESSAGE_LENGTH = 12_000;
/** Tenants whose announcement waits to be sent. Polling covers the others. */
const MAX_PENDING = 10_000;
/** In characters. Polling covers tenants with longer ids. */
const MAX_TENANT_LENGTH = 1000;

export interface AnnouncerOptions {
  readonly bus: FeatureFlagsBus;
  readonly listener: AnnouncementListener;
  /** A process has sent a JSON object. */
  readonly received: (text: string) => void;
  /** False without background work: this process then only sends. */
  readonly listens: boolean;
  /** Called once per outage. */
  readonly warn: (message: string, error: unknown) => void;
}

export function createAnnouncer({
  bus: given,
  listener,
  received,
  listens,
  warn,
}: AnnouncerOptions): Announcer {
  const bus = "unsubscribe" in given ? pubSubBus(given, TOPIC) : given;
  let isConnected = false;
  /** The bus has told that it is not connected. */
  let isLost = false;
  /** The bus did not accept the last message. */
  let isRefusing = false;
  let isClosed = false;
  let pending = new Map<string, number>();
  let sending: Promise<void> | undefined;

  const stop = listens
    ? bus.subscribe({
        received(message) {
          // Announcements are arrays.
          if (message.startsWith("{")) return received(message);
          for (const [tenant, revision] of parse(message)) listener.changed(tenant, revision);
        },
        missed() {
          if (isClosed) return;
          isConnected = true;
          isLost = false;
          isRefusing = false;
          listener.connected();
        },
        lost(error) {
          if (isClosed) return;
          isConnected = false;
          isLost = true;
          warn("The bus is down. Changes of other processes arrive by polling until it reconnects.", error);
        },
      })
    : undefined;

  async function send(): Promise<void> {
    // The changes of one turn go out together.
    await undefined;
    while (pending.size > 0) {
      const changes = [...pending];
      pending = new Map();
      for (const message of packMessages(changes, JSON.stringify)) await publish(message);
    }
    sending = undefined;
  }

  async function publish(message: string): Promise<void> {
    try {
      await bus.publish(message);
      isRefusing = false;
    } catch (error) {
      if (!isRefusing && !isLost)
        warn("The bus did not accept a message. Other processes find changes by polling.", error);
      isRefusing = true;
    }
  }

  function state(): BusState {
    if (!listens || isClosed) return "off";
    return isConnected && !isRefusing ? "up" : "down";
  }

  return {
    announce(tenant, revision) {
      if (isClosed || pending.size >= MAX_PENDING || tenant.length > MAX_TENANT_LENGTH) return;
      pending.set(tenant, Math.max(revision, pending.get(tenant) ?? 0));
      sending ??= send();
    },
    send(text) {
      if (!isClosed) void publish(text);
    },
    state,
    async close() {
      isClosed = true;
      stop?.();
      await sending;
    },
  };
}

type Announced = readonly [tenant: string, revision: number];

/** Checks every field, because any process with access to the bus can publish. */
function parse(message: string): Announced[] {
  if (message.length > MAX_MESSAGE_LENGTH) return [];
  try {
    const changes: unknown = JSON.parse(message);
    return Array.isArray(changes) ? changes.filter(isAnnounced) : [];
  } catch {
    return [];
  }
}

function isAnnounced(change: unknown): change is Announced {
  if (!Array.isArray(change)) return false;
  const [tenant, revision] = change as unknown[];
  return typeof tenant === "string" && Number.isSafeInteger(revision);
}
