/** Announces changes of flags on a bus of short texts: a bus of `@halyard/sessions`, or a pub/sub of `@halyard/wire`. */
import type { SessionBus } from "@halyard/sessions";
import { type PostgresPool as ListeningPool, postgresSessionBus } from "@halyard/sessions/postgres";
import type { Bus, BusListener, BusState } from "../store/bus.ts";
import { RETRY_MS } from "../store/wait.ts";
import { mistake } from "./help.ts";

/** The members of a pub/sub of `@halyard/wire` that are used, such as `redisPubSub()` or `natsPubSub()`. */
export interface FlagsPubSub {
  /** Adds a subscriber of a topic. */
  subscribe(topic: string, subscriber: FlagsSubscriber): void | Promise<void>;
  /** Removes a subscriber of a topic. */
  unsubscribe(topic: string, subscriber: FlagsSubscriber): void | Promise<void>;
  /** Carries a text to every subscriber of the topic. */
  publish(
    topic: string,
    frame: string,
    options: Record<string, never>,
  ): { readonly ok: boolean } | Promise<{ readonly ok: boolean }>;
}

/** A subscriber of a pub/sub of `@halyard/wire`. */
export interface FlagsSubscriber {
  /** Receives a text. */
  deliver(topic: string, frame: string): number;
  /** Texts may have been lost. */
  missed?(): void;
}

/** What carries announcements of changes between processes: `postgresBus()`, `redisBus()`, or a pub/sub of `@halyard/wire`. */
export type FeatureFlagsBus = SessionBus | FlagsPubSub;

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
export function postgresBus(pool: ListeningPool, options: PostgresBusOptions = {}): SessionBus {
  return postgresSessionBus(pool, { channel: options.channel ?? "halyard_flags" });
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
/** In characters, of one message. A notification of PostgreSQL has less than 8,000 bytes. */
const MAX_MESSAGE_LENGTH = 6000;
/** Tenants whose announcement waits to be sent. Polling covers the others. */
const MAX_PENDING = 10_000;
/** In characters. Polling covers tenants with longer ids. */
const MAX_TENANT_LENGTH = 1000;

export interface MessageBusOptions {
  readonly bus: FeatureFlagsBus;
  readonly listener: BusListener;
  /** A process has sent a JSON object. */
  readonly received: (text: string) => void;
  /** False without background work: this process then only sends. */
  readonly listens: boolean;
  /** Called once per outage. */
  readonly warn: (message: string, error: unknown) => void;
}

/** The bus for the store. Losses and failures are allowed: polling finds what the bus misses. */
export function createMessageBus({ bus: given, listener, received, listens, warn }: MessageBusOptions): Bus {
  const bus = "unsubscribe" in given ? overPubSub(given) : given;
  let state: BusState = listens ? "down" : "off";
  let isFailing = false;
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
          state = "up";
          listener.connected();
        },
      })
    : undefined;

  async function send(): Promise<void> {
    // The changes of one turn go out together.
    await undefined;
    while (pending.size > 0) {
      const changes = [...pending];
      pending = new Map();
      for (const message of toMessages(changes)) await publish(message);
    }
    sending = undefined;
  }

  async function publish(message: string): Promise<void> {
    try {
      await bus.publish(message);
      if (isFailing && listens) state = "up";
      isFailing = false;
    } catch (error) {
      if (listens) state = "down";
      if (!isFailing)
        warn("The bus did not accept a message. Other processes find changes by polling.", error);
      isFailing = true;
    }
  }

  return {
    publish(tenant, revision) {
      if (isClosed || pending.size >= MAX_PENDING || tenant.length > MAX_TENANT_LENGTH) return;
      pending.set(tenant, Math.max(revision, pending.get(tenant) ?? 0));
      sending ??= send();
    },
    send(text) {
      if (!isClosed) void publish(text);
    },
    state: () => state,
    async close() {
      isClosed = true;
      state = "off";
      stop?.();
      await sending;
    },
  };
}

function overPubSub(pubsub: FlagsPubSub): SessionBus {
  return {
    async publish(message) {
      const { ok } = await pubsub.publish(TOPIC, message, {});
      if (!ok) throw new Error("The pub/sub did not accept the message.");
    },
    subscribe({ received, missed }) {
      let isStopped = false;
      const subscriber: FlagsSubscriber = {
        deliver(_topic, frame) {
          received(frame);
          return 0;
        },
        missed: () => missed(),
      };
      const subscribe = async (): Promise<void> => {
        while (!isStopped) {
          try {
            await pubsub.subscribe(TOPIC, subscriber);
            return missed();
          } catch {
            await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
          }
        }
      };
      void subscribe();
      return () => {
        isStopped = true;
        void Promise.resolve(pubsub.unsubscribe(TOPIC, subscriber)).catch(() => undefined);
      };
    },
  };
}

type Announced = readonly [tenant: string, revision: number];

function toMessages(changes: readonly Announced[]): string[] {
  const text = JSON.stringify(changes);
  if (text.length <= MAX_MESSAGE_LENGTH || changes.length === 1) return [text];
  const middle = Math.ceil(changes.length / 2);
  return [...toMessages(changes.slice(0, middle)), ...toMessages(changes.slice(middle))];
}

/** Checks every field, because any process with access to the bus can publish. */
function parse(message: string): Announced[] {
  if (message.length > 2 * MAX_MESSAGE_LENGTH) return [];
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
