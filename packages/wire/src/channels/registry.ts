/** The channels of a router. */
import { positiveOption } from "../protocol/checks.ts";
import type { AnyData } from "../router/peer.ts";
import type { AnyChannel } from "../schema/channel.ts";
import type { ChannelHooks, PresenceHooks } from "./handlers.ts";

/** Presence hooks only for a channel with presence. */
export type AnyHandlers = ChannelHooks<AnyChannel, AnyData> & Partial<PresenceHooks<AnyChannel, AnyData>>;

export interface RegisteredChannel {
  readonly channel: AnyChannel;
  readonly handlers: AnyHandlers;
}

export class ChannelRegistry {
  readonly #channels = new Map<string, RegisteredChannel>();

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

  clear(): void {
    this.#channels.clear();
  }
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
  positiveOption("maxMembers", handlers.maxMembers, 1_000);
  positiveOption("leaveGraceMs", handlers.leaveGraceMs, 3_000);
}
