/// <reference lib="esnext.disposable" preserve="true" />
/** `createPublisher()`: publishes from a process without a server, such as a script or a queue worker. */
import type { ChannelTarget } from "../../channels/channel-target.ts";
import { checkOptionNames } from "../../protocol/option-names.ts";
import { requireHistory } from "../../pubsub/history-rules.ts";
import type { PublishResult, PubSub } from "../../pubsub/pubsub.ts";
import type { AnyChannel, ParamsInput } from "../../schema/channel.ts";
import type { AnyMessageSchema } from "../../schema/message.ts";
import type { PublishOptions, SendArguments } from "../context.ts";
import type { RouterOptions } from "../options.ts";
import { Router } from "../router.ts";

/** The options of `createPublisher()`. */
export interface PublisherOptions extends Pick<RouterOptions, "maxOutboundFrameBytes" | "validator"> {
  /** The pub/sub of the servers, such as `redisPubSub()`. */
  readonly pubsub: PubSub;
}

/** Publishes to the clients of other processes. Created by `createPublisher()`. */
export interface TopicPublisher extends AsyncDisposable {
  /** Publishes to every subscriber of the topic. */
  publish<S extends AnyMessageSchema>(
    topic: string,
    schema: S,
    ...rest: SendArguments<S, PublishOptions<S>>
  ): Promise<PublishResult>;
  /** The channel with these parameters, to publish on it. Throws `INVALID_ARGUMENT` for invalid parameters. */
  to<C extends AnyChannel>(channel: C, params: ParamsInput<C>): Pick<ChannelTarget<C>, "publish">;
  /** Waits for publishes under way, and closes the connection that the publisher has opened. Later publishes fail. */
  close(): Promise<void>;
}

const CLOSED: PublishResult = {
  ok: false,
  error: "DISCONNECTED",
  retryable: false,
  details: { reason: "the publisher was closed with close()" },
};

/**
 * Creates a publisher for a process without a server. It opens one connection to the broker, at the first publish.
 *
 * @example
 * ```ts
 * import { createPublisher, message, z } from "@halyard/wire/zod";
 * import { redisPubSub } from "@halyard/wire/redis";
 * import { createClient } from "redis";
 *
 * const Said = message("SAID", { text: z.string() });
 * const pubsub = redisPubSub(createClient({ url: "redis://localhost:6379" }));
 * await using publisher = createPublisher({ pubsub });
 * await publisher.publish("news", Said, { text: "The backup is complete." });
 * ```
 */
export function createPublisher(options: PublisherOptions): TopicPublisher {
  checkOptionNames<PublisherOptions>("createPublisher()", options, {
    pubsub: true,
    validator: true,
    maxOutboundFrameBytes: true,
  });
  const { pubsub } = options;
  if (typeof pubsub?.publish !== "function")
    throw new TypeError("createPublisher() needs the pubsub of the servers, such as redisPubSub(client).");
  const own = pubsub.publisher?.();
  const router = new Router({ ...options, pubsub: own ?? pubsub });
  const underWay = new Set<Promise<unknown>>();
  let closing: Promise<void> | undefined;
  const track = (publish: () => Promise<PublishResult>): Promise<PublishResult> => {
    if (closing !== undefined) return Promise.resolve(CLOSED);
    const result = publish().finally(() => underWay.delete(result));
    underWay.add(result);
    return result;
  };
  const end = async (): Promise<void> => {
    await Promise.all(underWay);
    await own?.close();
  };
  const close = (): Promise<void> => {
    closing ??= end();
    return closing;
  };
  return {
    publish: (...args) => track(() => router.publish(...args)),
    to: (channel, params) => {
      if (channel.history !== undefined) requireHistory(pubsub, `The channel "${channel.pattern}"`);
      const target = router.to(channel, params);
      return { publish: (...args) => track(() => target.publish(...args)) };
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
