/** For a process that runs no server of the router, such as a worker that only publishes. */
import { systemClock } from "@halyard/base";
import { WsError } from "../protocol/error.ts";
import type { PublishResult, PubSub } from "../pubsub/pubsub.ts";
import type { AnyChannel, MemberPage, MemberPageOptions } from "../schema/channel.ts";
import { TimerWheel } from "../time/timers.ts";
import type { ChannelTarget } from "./channel-target.ts";
import type { PresenceOptions } from "./presence/room.ts";
import { ServerPresence } from "./presence/server-presence.ts";

export class MemberObserver {
  #presence: ServerPresence | undefined;

  read(
    pubsub: PubSub,
    topic: string,
    options: PresenceOptions,
    page: MemberPageOptions,
  ): Promise<MemberPage> {
    const server = { clock: systemClock, timers: new TimerWheel(systemClock) };
    this.#presence ??= new ServerPresence(server, pubsub);
    return this.#presence.read(topic, options, page);
  }
}

/** The result of a publish that would reach no subscriber: all of them are in Durable Objects. */
export const UNREACHABLE: PublishResult = {
  ok: false,
  error: "UNSUPPORTED",
  retryable: false,
  details: {
    reason:
      "router.publish() does not reach the connections of a Durable Object. Call this.publish() in the object, or a method of its stub that does.",
  },
};

/** The target of a channel whose members are all in Durable Objects. */
export function createUnreachableTarget(): ChannelTarget<AnyChannel> {
  const refuse = (): Promise<never> =>
    Promise.reject(
      new WsError(
        "FAILED_PRECONDITION",
        "router.to() does not reach the members of a Durable Object. Call this.to() in the object, or a method of its stub that does.",
      ),
    );
  return { publish: () => Promise.resolve(UNREACHABLE), members: refuse, memberPage: refuse };
}
