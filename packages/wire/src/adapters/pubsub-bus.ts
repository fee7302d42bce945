/** Carries the changes of sessions over the router's pub/sub. */
import type { SessionBus } from "@halyard/sessions";
import type { PubSub, Subscriber } from "../pubsub/pubsub.ts";
import { RETRY_MS } from "../time/waits.ts";

/** Applications cannot use the empty topic. Routers exchange disconnects on it. */
const TOPIC = "";
const TYPE = "$ws:sessions";

export function createPubSubBus(pubsub: PubSub): SessionBus {
  return {
    async publish(message) {
      const result = await pubsub.publish(TOPIC, JSON.stringify({ type: TYPE, message }), {});
      if (!result.ok)
        throw new Error(`The pub/sub did not accept a message about a session: ${result.error}.`);
    },
    subscribe(listener) {
      let isStopped = false;
      const subscriber: Subscriber = {
        deliver(_topic, frame) {
          const message = messageIn(frame);
          if (message !== undefined) listener.received(message);
          return 0;
        },
        missed: () => listener.missed(),
      };
      const subscribe = async (): Promise<void> => {
        while (!isStopped) {
          try {
            await pubsub.subscribe(TOPIC, subscriber);
            // Connections may have been accepted before the subscription was confirmed.
            return listener.missed();
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

function messageIn(frame: string): string | undefined {
  if (!frame.startsWith(`{"type":"${TYPE}"`)) return undefined;
  try {
    const { message } = JSON.parse(frame) as { message?: unknown };
    return typeof message === "string" ? message : undefined;
  } catch {
    return undefined;
  }
}
