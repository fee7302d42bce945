/** Reads the payload of `$ws:join`, which is not trusted. */

import { isObject } from "../protocol/checks.ts";
import type { Position } from "../protocol/control.ts";
import { WsError } from "../protocol/error.ts";
import type { Connection, ControlCall } from "../router/contracts.ts";
import type { Membership } from "../router/topics/membership.ts";
import type { ChannelHistory } from "../schema/channel.ts";
import type { ChannelVerdict } from "./handlers.ts";
import type { JoinStart } from "./history-topic.ts";
import { JoinRate } from "./join-rate.ts";
import type { Place } from "./registry.ts";

const MAX_EPOCH_LENGTH = 128;

/** Where a join begins. Throws `INVALID_ARGUMENT` for a position or number that no client of this protocol sends. */
export function readStart(payload: unknown, { size }: ChannelHistory): JoinStart {
  const { position, last = 0 } = isObject(payload) ? payload : {};
  if (position !== undefined && !isPosition(position))
    throw new WsError(
      "INVALID_ARGUMENT",
      'The "position" of $ws:join is not an object with epoch and offset.',
    );
  if (!isCount(last))
    throw new WsError("INVALID_ARGUMENT", 'The "last" of $ws:join is not a whole number from 0.');
  return { position, last: Math.min(last, size) };
}

function isPosition(value: unknown): value is Position {
  if (!isObject(value)) return false;
  const { epoch, offset } = value;
  return typeof epoch === "string" && epoch.length <= MAX_EPOCH_LENGTH && isCount(offset);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** A join that waits for its authorization or for the pub/sub. */
export interface PendingJoin {
  readonly topic: string;
  /** When its authorization began, in ms by the server's clock. */
  readonly startedAt: number;
  /** The connection's `authorization` when `authorize` was called. */
  authorization: number;
  /** Until when the verdict holds, in ms since epoch. */
  until: number | undefined;
  /** Of a channel with presence: what the connection shows of itself. */
  member: Membership["member"];
  /** Whether the connection's data has changed since `member` was read. */
  hasNewData: boolean;
  /** Why it must not complete. */
  end: "left" | "withdrawn" | undefined;
}

/** The joins of one connection. */
export class Joins {
  readonly pending: Set<PendingJoin> = new Set();
  readonly rate: JoinRate = new JoinRate();

  /** Whether the connection has the topic, or is joining it. */
  isRepeat({ memberships }: Connection, topic: string): boolean {
    return memberships?.has(topic) || [...this.pending].some((join) => join.topic === topic && !join.end);
  }

  start({ server, authorization }: Connection, topic: string): PendingJoin {
    const startedAt = server.clock.now();
    const none = { until: undefined, member: undefined, end: undefined };
    const join: PendingJoin = { ...none, topic, startedAt, authorization, hasNewData: false };
    this.pending.add(join);
    return join;
  }
}

/** Throws when the connection has as many channels as it may. Joins that wait count, several for one topic once. */
export function checkLimit(
  { memberships, server }: Connection,
  joins: Iterable<PendingJoin>,
  topic: string,
): void {
  const limit = server.options.maxTopicsPerConnection;
  const topics = new Set(memberships?.keys()).add(topic);
  for (const join of joins) topics.add(join.topic);
  if (topics.size <= limit) return;
  throw new WsError(
    "RESOURCE_EXHAUSTED",
    `This connection already has ${limit} channels, which is the limit (maxTopicsPerConnection). Leave one first.`,
    undefined,
    { retryable: false },
  );
}

/** Until when the verdict of `authorize` holds, in ms since epoch. */
export function untilOf(verdict: ChannelVerdict): number | undefined {
  return typeof verdict === "object" ? verdict.until : undefined;
}

export function denied({ registered }: Place): WsError {
  return new WsError(
    "PERMISSION_DENIED",
    `This connection is not allowed to join the channel "${registered.channel.pattern}". Its authorize function decides.`,
  );
}

/** Throws when the connection has left, was put out, or waits no longer, since the join began. */
export function assertContinues(call: ControlCall, place: Place, { end }: PendingJoin): void {
  if (end === "withdrawn") throw denied(place);
  if (end === "left" || !call.isRunning || !call.ws.isOpen)
    throw new WsError("CANCELLED", "The join ended before the client had joined.");
}
