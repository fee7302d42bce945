/** A bus over a topic of a pub/sub. */
import type { Bus } from "./bus.ts";
import { systemClock } from "./clock.ts";
import { ignore, pause, RETRY_MS } from "./waits.ts";

/** The members of a pub/sub of `@halyard/wire` that are used, such as `redisPubSub()` or `natsPubSub()`. */
export interface BusPubSub {
  /** Adds a subscriber of a topic. */
  subscribe(topic: string, subscriber: BusSubscriber): void | Promise<void>;
  /** Removes a subscriber of a topic. */
  unsubscribe(topic: string, subscriber: BusSubscriber): void | Promise<void>;
  /** Carries a text to every subscriber of the topic. */
  publish(
    topic: string,
    frame: string,
    options: Record<string, never>,
  ): { readonly ok: boolean } | Promise<{ readonly ok: boolean }>;
}

/** A subscriber of a pub/sub of `@halyard/wire`. */
export interface BusSubscriber {
  /** Receives a text. */
  deliver(topic: string, frame: string): number;
  /** Texts may have been lost. */
  missed?(): void;
}

/** Applications cannot use topics that begin with `$`. */
export function pubSubBus(pubsub: BusPubSub, topic: `$${string}`): Bus {
  return {
    async publish(message) {
      const result = await pubsub.publish(topic, message, {});
      if (result.ok) return;
      const reason = "error" in result ? `: ${result.error}` : "";
      throw new Error(`The pub/sub did not accept the message${reason}.`);
    },
    subscribe(listener) {
      let isStopped = false;
      const subscriber: BusSubscriber = {
        deliver(_topic, frame) {
          listener.received(frame);
          return 0;
        },
        missed: () => listener.missed(),
      };
      const subscribe = async (): Promise<void> => {
        while (!isStopped) {
          try {
            await pubsub.subscribe(topic, subscriber);
            if (!isStopped) listener.missed();
            return;
          } catch {
            await pause(systemClock, RETRY_MS);
          }
        }
      };
      void subscribe();
      return () => {
        isStopped = true;
        void Promise.resolve(pubsub.unsubscribe(topic, subscriber)).catch(ignore);
      };
    },
  };
}
