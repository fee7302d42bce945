/** Publishing: check once, serialise once, hand to the pub/sub. */
import { encode } from "../protocol/envelope.ts";
import { WsError } from "../protocol/error.ts";
import type { CarryOptions, PublishResult, PubSub } from "../pubsub/pubsub.ts";
import type { AnyMessageSchema } from "../schema/message.ts";
import { checkOutbound, type Validator } from "../schema/validate.ts";
import type { Clock } from "./clock.ts";
import { isTopic } from "./topics.ts";

export interface Publisher {
  readonly pubsub: PubSub;
  readonly validator: Validator;
  readonly clock: Clock;
  /** Hears why the pub/sub could not publish. */
  failed(error: unknown): void;
}

/** Never rejects: a wrong topic or payload, or a pub/sub that is gone, is a result. */
export async function publish(
  publisher: Publisher,
  topic: string,
  schema: AnyMessageSchema,
  payload: unknown,
  meta: object | undefined,
  options: CarryOptions,
): Promise<PublishResult> {
  if (!isTopic(topic)) return refused({ topic: "A topic is a string of 1 to 256 characters." });
  let frame: string;
  try {
    checkOutbound(publisher.validator, schema, payload, meta, "INVALID_ARGUMENT");
    frame = encode(schema.type, { timestamp: publisher.clock.wall(), ...meta }, payload);
  } catch (error) {
    // Else it has no JSON form: a bigint, a cycle.
    const { message, details } = WsError.wrap(error, "INVALID_ARGUMENT");
    return refused({ message, ...details });
  }
  try {
    return await publisher.pubsub.publish(topic, frame, options);
  } catch (error) {
    publisher.failed(error);
    return { ok: false, error: "DISCONNECTED", retryable: true };
  }
}

function refused(details: Record<string, unknown>): PublishResult {
  return { ok: false, error: "VALIDATION", retryable: false, details };
}
