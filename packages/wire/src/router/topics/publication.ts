/** Publishes a message: validates and encodes it once, then gives it to the pub/sub. */
import { encode, type Meta } from "../../protocol/envelope.ts";
import { WsError } from "../../protocol/error.ts";
import type { CarryOptions, PublishResult } from "../../pubsub/pubsub.ts";
import type { AnyMessageSchema } from "../../schema/message.ts";
import { notASchema } from "../../schema/message-schema.ts";
import { checkOutbound } from "../../schema/validate.ts";
import { checkFrameSize } from "../connections/frame-size.ts";
import type { Publisher } from "./publisher.ts";
import { isTopic, TOPIC_RULE } from "./topics.ts";

/** Never rejects: an invalid topic or payload, or an unavailable pub/sub, is a result. An invalid payload is reported too. */
export async function publish(
  publisher: Publisher,
  topic: string,
  schema: AnyMessageSchema,
  payload: unknown,
  meta: object | undefined,
  options: CarryOptions,
): Promise<PublishResult> {
  if (!isTopic(topic)) return refused({ topic: TOPIC_RULE });
  return encodeAndSend(publisher, schema, payload, meta, undefined, (frame) =>
    publisher.pubsub.publish(topic, frame, options),
  );
}

/** Validates and encodes a message, then sends its frame. `reserved` are meta keys that the protocol adds. */
export async function encodeAndSend(
  publisher: Publisher,
  schema: AnyMessageSchema,
  payload: unknown,
  meta: object | undefined,
  reserved: Meta | undefined,
  send: (frame: string) => PublishResult | Promise<PublishResult>,
): Promise<PublishResult> {
  let frame: string;
  try {
    if (typeof schema !== "object") throw new WsError("INTERNAL", notASchema("Publishing a message", schema));
    checkOutbound(publisher.validator, schema, payload, meta, "INTERNAL");
    frame = encode(schema.type, { timestamp: publisher.clock.wall(), ...meta, ...reserved }, payload);
    checkFrameSize(frame, publisher.maxFrameBytes);
  } catch (error) {
    // Validation failed, the payload has no JSON form (such as a bigint or a cycle), or the frame is too large.
    const invalid = WsError.wrap(error, "INTERNAL");
    publisher.invalid(invalid, schema?.type);
    return refused({ message: invalid.message, ...invalid.details });
  }
  try {
    const result = await send(frame);
    publisher.sent?.(result);
    return result;
  } catch (error) {
    publisher.failed(error);
    return { ok: false, error: "DISCONNECTED", retryable: true };
  }
}

function refused(details: Record<string, unknown>): PublishResult {
  return { ok: false, error: "VALIDATION", retryable: false, details };
}
