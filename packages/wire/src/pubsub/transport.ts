/** The interface between the logic that all brokers share (`broker.ts`) and the connections to one broker. */

import type { Clock } from "@halyard/base";
import type { AppendOptions, HistoryPage, HistoryPosition, HistoryReadOptions } from "./history.ts";

/**
 * The name under which a transport carries the heartbeats between processes, on a channel apart from topics. No topic of
 * an application has it: topics with a lone surrogate are refused.
 */
export const HEARTBEATS = "\uD800";

/** What every transport needs. */
export interface TransportSettings {
  /** What every name at the broker begins with. */
  readonly prefix: string;
  /** Identifies this process on the broker. */
  readonly id: string;
  readonly clock: Clock;
  readonly replyTimeoutMs: number;
  /** Whether nothing is subscribed. */
  readonly onlyPublishes?: boolean | undefined;
}

/** Carries messages by topic over a broker. Connects at the first call and reconnects by itself. */
export interface Transport {
  /** Whether publishes can be sent and all subscriptions are active, as far as this process knows. */
  readonly isConnected: boolean;
  /** The largest message the broker accepts, in bytes; undefined when unknown. */
  readonly maxMessageBytes?: number | undefined;
  /** Resolves once the broker has confirmed the subscription. When it rejects, the topic is not subscribed. */
  subscribe(topic: string): Promise<void>;
  /** May be called while `subscribe` is pending: the later call wins. */
  unsubscribe(topic: string): Promise<void>;
  /**
   * Resolves once the broker has accepted the message: to the number of subscribers that receive it, where the broker
   * tells. Messages are sent in order. Rejects at once while disconnected.
   */
  publish(topic: string, message: string): Promise<unknown>;
  /**
   * Publishes to a topic that this process is about to subscribe, and resolves to whether it has a subscriber. Where
   * `publish` does not resolve to a number.
   */
  probe?(topic: string, message: string): Promise<boolean>;
  close(): Promise<void>;
  /** The logs of topics at the broker; absent when it keeps none. */
  readonly logs?: TransportLogs | undefined;
}

/** A frame to append, with the header under which it is published; the broker adds the position to the header. */
export interface LogEntry {
  readonly header: string;
  readonly frame: string;
  readonly options: AppendOptions;
}

/** The reply to an append; a text when the topic has a last frame, its epoch is not the expected one, or memory is full. */
export type LogReply =
  | { readonly position: HistoryPosition; readonly isRepeated: boolean }
  | "ENDED"
  | "EPOCH"
  | "FULL";

/** The logs of topics at the broker. A call without a reply may have had its effect. */
export interface TransportLogs {
  /** Why the topic cannot have a log; undefined when it can. */
  problemOf(topic: string): string | undefined;
  /** Appends the frame and publishes it on the topic, in one step. */
  append(topic: string, entry: LogEntry): Promise<LogReply>;
  read(topic: string, options: HistoryReadOptions): Promise<HistoryPage>;
  delete(topic: string): Promise<void>;
}

/** The events a transport reports. */
export interface TransportEvents {
  /** A message of a topic has arrived. */
  received(topic: string, message: string): void;
  /** The subscriptions to these topics are lost. */
  lost(topics: Iterable<string>, reason: string): void;
  /** The lost subscriptions to these topics are active again. */
  restored(topics: Iterable<string>): void;
  /**
   * A connection for publishing that was lost at this monotonic time is restored, or replaced by one to another server.
   * Messages accepted before may be lost. `concerns` tells which topics used the connection; absent: all.
   */
  resumed(lostAt: number, concerns?: (topic: string) => boolean): void;
}

/** Connects to the broker. With `onlyPublishes`, no connection subscribes. */
export type Connect = (
  events: TransportEvents,
  replyTimeoutMs: number,
  clock: Clock,
  onlyPublishes: boolean,
) => Transport;
