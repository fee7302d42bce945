/** The logs of topics in Redis: a stream for the frames, a hash for the epoch, a hash for the ids of appends. */
import type { ScriptCall } from "@halyard/base/redis";
import { messageOf } from "../../protocol/error.ts";
import type { HistoryItem, HistoryPage, HistoryReadOptions } from "../history.ts";
import { EPOCH_KEPT_MS, epochIds, MIN_KEPT_IDS, offsetOf } from "../history-rules.ts";
import type { LogEntry, LogReply, TransportLogs } from "../transport.ts";
import { slotOf } from "./channel-slot.ts";
import { logKeys, topicChannel } from "./channels.ts";
import { LastAppends } from "./last-appends.ts";
import { APPEND, DELETE, READ } from "./log-scripts.ts";

export interface RedisLogsOptions {
  readonly prefix: string;
  /** Whether the topics are sharded channels of a cluster. */
  readonly isSharded: boolean;
  /** Whether a restarted server has every frame that it confirmed. */
  readonly durable: boolean;
  /** Runs the script where the topic's channel is. Its keys are in the slot of the channel. */
  run(topic: string, call: ScriptCall): Promise<unknown>;
}

/** Values in an item of the reply to `READ`: offset, excluded client, frame. */
const VALUES_PER_ITEM = 3;
const HEAD_VALUES = 5;
/** Logs of shorter life are renewed with every append: they should go in time. */
const MIN_RENEWED_TTL_MS = 10_000;
const MAX_RENEWAL_MS = 60_000;

export class RedisLogs implements TransportLogs {
  readonly #options: RedisLogsOptions;
  readonly #durable: string;
  /** The id of the epoch that a script may have to begin. */
  readonly #nextEpoch = epochIds();
  readonly #lastAppends = new LastAppends();

  constructor(options: RedisLogsOptions) {
    this.#options = options;
    this.#durable = options.durable ? "1" : "0";
  }

  problemOf(topic: string): string | undefined {
    const { prefix, isSharded } = this.#options;
    if (!isSharded || slotOf(logKeys(prefix, topic).log) === slotOf(topicChannel(prefix, topic)))
      return undefined;
    return 'A topic with "}" cannot have history in a Redis Cluster, unless its first pair of braces is a hash tag. Use other characters in the topic and in the prefix.';
  }

  async append(topic: string, { header, frame, options }: LogEntry): Promise<LogReply> {
    const { prefix, isSharded } = this.#options;
    const { size, lifetime, id = "", excludeClientId = "", isLast, epoch: expected = "" } = options;
    const keys = logKeys(prefix, topic);
    const ttlMs = String(Math.ceil(options.ttlMs));
    const isTopicLifetime = lifetime === "topic";
    const call = {
      script: APPEND,
      keys: id === "" ? [keys.epoch, keys.log] : [keys.epoch, keys.log, keys.ids],
      args: [
        this.#durable,
        this.#nextEpoch(),
        isSharded ? "SPUBLISH" : "PUBLISH",
        topicChannel(prefix, topic),
        header,
        frame,
        excludeClientId,
        String(size),
        ttlMs,
        isTopicLifetime ? "0" : ttlMs,
        isTopicLifetime ? ttlMs : String(EPOCH_KEPT_MS),
        isLast ? "1" : "0",
        id,
        String(Math.max(size, MIN_KEPT_IDS)),
        expected,
        String(isTopicLifetime ? 0 : renewalOf(options.ttlMs)),
        ...this.#lastAppends.of(topic),
      ],
    };
    const reply = await this.#options.run(topic, call).catch((error: unknown) => {
      if (isFull(error)) return "FULL";
      throw error;
    });
    if (reply === "FULL") return reply;
    if (!Array.isArray(reply)) throw unreadable();
    const [epoch, offset, repeated] = reply as unknown[];
    if (offset === undefined) return epoch === undefined ? "ENDED" : "EPOCH";
    const position = { epoch: String(epoch), offset: toNumber(offset) };
    this.#lastAppends.set(topic, position);
    return { position, isRepeated: toNumber(repeated) === 1 };
  }

  async read(topic: string, options: HistoryReadOptions): Promise<HistoryPage> {
    const { after, last = 0, maxItems, maxBytes, create = true } = options;
    const keys = logKeys(this.#options.prefix, topic);
    const reply = await this.#options.run(topic, {
      script: READ,
      keys: [keys.epoch, keys.log],
      args: [
        this.#durable,
        this.#nextEpoch(),
        create ? "1" : "0",
        after === undefined ? "" : `after ${after.epoch}`,
        String(after === undefined ? 0 : offsetOf(after)),
        String(last),
        String(maxItems),
        String(maxBytes),
        ...this.#lastAppends.of(topic),
      ],
    });
    if (!Array.isArray(reply) || reply.length < HEAD_VALUES) throw unreadable();
    const [epoch, top, hasEnded, isMissing, hasMore, ...values] = reply as unknown[];
    const items: HistoryItem[] = [];
    for (let at = 0; at < values.length; at += VALUES_PER_ITEM) {
      const excluded = String(values[at + 1]);
      items.push({
        offset: toNumber(values[at]),
        frame: String(values[at + 2]),
        excludeClientId: excluded === "" ? undefined : excluded,
      });
    }
    return {
      epoch: String(epoch),
      top: toNumber(top),
      items,
      // Without an epoch, every position is of another one.
      isMissing: toNumber(isMissing) === 1 || (epoch === "" && after !== undefined),
      hasMore: toNumber(hasMore) === 1,
      hasEnded: toNumber(hasEnded) === 1,
    };
  }

  async delete(topic: string): Promise<void> {
    const { epoch, log, ids } = logKeys(this.#options.prefix, topic);
    this.#lastAppends.delete(topic);
    await this.#options.run(topic, { script: DELETE, keys: [epoch, log, ids], args: [] });
  }
}

/** How much longer than needed the keys of a log may stay, so that their lifetime is not renewed with every append. */
function renewalOf(ttlMs: number): number {
  return ttlMs < MIN_RENEWED_TTL_MS ? 0 : Math.min(MAX_RENEWAL_MS, Math.floor(ttlMs / 8));
}

/** Whether Redis refused the first write of a script because of `maxmemory`. */
function isFull(error: unknown): boolean {
  return /\bOOM command not allowed/.test(messageOf(error));
}

function toNumber(value: unknown): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number)) throw unreadable();
  return number;
}

function unreadable(): Error {
  return new Error("the reply of Redis is not that of the history script");
}
