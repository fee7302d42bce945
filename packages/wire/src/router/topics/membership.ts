import type { Position } from "../../protocol/control.ts";

/** A connection's membership in a channel. Plain data, because a platform with hibernation persists it. */
export interface Membership {
  readonly topic: string;
  /** The pattern of the channel. */
  readonly pattern: string;
  readonly params: Readonly<Record<string, string | number | boolean>>;
  /** When its authorization began, in ms by the server's clock. */
  readonly authorizedAt: number;
  /** When `authorize` runs again, in ms since epoch; undefined: not by itself. */
  until: number | undefined;
  /** Whether the channel has history. */
  readonly hasHistory: boolean;
  /** Whether the connection gets the frames of the topic when they are published; false while it replays the history. */
  isLive: boolean;
  /** While the connection replays the history: up to where it was sent. */
  position: Position | undefined;
  /** Of a channel with presence: what the connection shows of itself. */
  member: ({ readonly key: string } & Readonly<Record<string, unknown>>) | undefined;
}
