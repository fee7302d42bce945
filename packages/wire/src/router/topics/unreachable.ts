/** What a router answers that serves Durable Objects only. */
import type { PublishResult } from "../../pubsub/pubsub.ts";

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
