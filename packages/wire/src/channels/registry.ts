/** The channels of a router. */
import { positiveOption } from "../protocol/checks.ts";
import type { AnyData } from "../router/connections/peer.ts";
import { isDevelopment } from "../router/options.ts";
import type { AnyChannel } from "../schema/channel.ts";
import type { ChannelHooks, PresenceHooks } from "./handlers.ts";
import type { PresenceOptions } from "./presence/room.ts";
import type { Params } from "./topic.ts";

/** Presence hooks only for a channel with presence. */
export type AnyHandlers = ChannelHooks<AnyChannel, AnyData> & Partial<PresenceHooks<AnyChannel, AnyData>>;

export interface RegisteredChannel {
  readonly channel: AnyChannel;
  readonly handlers: AnyHandlers;
}

/** A channel with the parameters of a request. */
export interface Place {
  readonly registered: RegisteredChannel;
  readonly params: Params;
  readonly topic: string;
}

export class ChannelRegistry {
  readonly #channels = new Map<string, RegisteredChannel>();
  /** Channels that a warning named. */
  readonly #missing = new WeakSet<AnyChannel>();

  get(pattern: string): RegisteredChannel | undefined {
    return this.#channels.get(pattern);
  }

  values(): Iterable<RegisteredChannel> {
    return this.#channels.values();
  }

  /** Registering a pattern again replaces its handlers. */
  set(channel: AnyChannel, handlers: AnyHandlers): void {
    check(channel, handlers);
    const { pattern } = channel;
    for (const { channel: other } of this.#channels.values())
      if (other.pattern !== pattern && shapeOf(other) === shapeOf(channel))
        throw new TypeError(
          `The channels "${other.pattern}" and "${pattern}" differ only in the names of their parameters, so they have the same topics. Rename one of them.`,
        );
    this.#channels.set(pattern, { channel, handlers });
  }

  append(other: ChannelRegistry): void {
    for (const { channel, handlers } of other.#channels.values()) this.set(channel, handlers);
  }

  /** Clients cannot join the channel, so every check of a membership in it fails. Warns once, in development. */
  warnMissing(channel: AnyChannel): void {
    if (this.#channels.has(channel.pattern) || this.#missing.has(channel) || !isDevelopment()) return;
    this.#missing.add(channel);
    console.warn(
      `[halyard] The channel "${channel.pattern}" is not registered, so no connection is a member: route().in() refuses every caller, and ctx.joined() returns false. Register it with router.channel().`,
    );
  }

  clear(): void {
    this.#channels.clear();
  }
}

const DEFAULT_MAX_MEMBERS = 1_000;
const DEFAULT_LEAVE_GRACE_MS = 3_000;

/** The options of a channel with presence, with defaults. */
export function presenceOptionsOf(handlers: AnyHandlers | undefined): PresenceOptions {
  const { maxMembers = DEFAULT_MAX_MEMBERS, leaveGraceMs = DEFAULT_LEAVE_GRACE_MS } = handlers ?? {};
  return { maxMembers, leaveGraceMs };
}

function shapeOf({ pattern }: AnyChannel): string {
  return pattern.replaceAll(/\{\w+\}/g, "*");
}

/** JavaScript callers may leave out what the types require. */
function check(channel: AnyChannel, handlers: AnyHandlers): void {
  if (typeof channel?.pattern !== "string" || !Array.isArray(channel.events))
    throw new TypeError("router.channel() needs a channel. Pass what channel() returned.");
  const { pattern, presence } = channel;
  if (typeof handlers?.authorize !== "function")
    throw new TypeError(
      `The channel "${pattern}" has no authorize function. Add authorize: (ctx, params) => …, which returns whether the connection may join.`,
    );
  if (presence !== undefined && typeof handlers.presence !== "function")
    throw new TypeError(
      `The channel "${pattern}" declares presence, but has no presence function. Add presence: (ctx, params) => …, which returns what a member shows of itself.`,
    );
  positiveOption("maxMembers", handlers.maxMembers, DEFAULT_MAX_MEMBERS);
  positiveOption("leaveGraceMs", handlers.leaveGraceMs, DEFAULT_LEAVE_GRACE_MS);
}
