/** Publishes a message: validates and encodes it once, then gives it to the pub/sub. */
import { encode } from "../protocol/envelope.ts";
import { WsError } from "../protocol/error.ts";
import type { CarryOptions, PublishResult, PubSub } from "../pubsub/pubsub.ts";
import type { AnyMessageSchema } from "../schema/message.ts";
import { notASchema } from "../schema/message-schema.ts";
import { checkOutbound, type Validator } from "../schema/validate.ts";
import type { Clock } from "../time/clock.ts";
import { checkFrameSize } from "./frame-size.ts";
import { isTopic } from "./topics.ts";

export interface Publisher {
  readonly pubsub: PubSub;
  readonly validator: Validator;
  readonly clock: Clock;
  readonly maxFrameBytes: number;
  /** Called with the error when the pub/sub throws. */
  failed(error: unknown): void;
  /** Called with the error when the message does not match its schema or has no JSON form. */
  invalid(error: WsError, type: string | undefined): void;
}

/** Never rejects: an invalid topic or payload, or an unavailable pub/sub, is a result. An invalid payload is reported too. */
export async function publish(
  publisher: Publisher,
  topic: string,
  schema: AnyMessageSchema,
  payload: unknown,
  meta: object | undefined,
  options: CarryOptions,
): Promise<PublishResult> {
  if (!isTopic(topic)) return refused({ topic: "The topic must be a string of 1 to 256 characters." });
  let frame: string;
  try {
    if (typeof schema !== "object") throw new WsError("INTERNAL", notASchema("Publishing a message", schema));
    checkOutbound(publisher.validator, schema, payload, meta, "INTERNAL");
    frame = encode(schema.type, { timestamp: publisher.clock.wall(), ...meta }, payload);
    checkFrameSize(frame, publisher.maxFrameBytes);
  } catch (error) {
    // Validation failed, the payload has no JSON form (such as a bigint or a cycle), or the frame is too large.
    const invalid = WsError.wrap(error, "INTERNAL");
    publisher.invalid(invalid, schema?.type);
    return refused({ message: invalid.message, ...invalid.details });
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
