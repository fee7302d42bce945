/** Checks of what is sent to a broker or received from it. */
import { byteLength } from "../protocol/bytes.ts";

/** A lone surrogate has no UTF-8 encoding, so it cannot be sent. */
const LONE_SURROGATE = /\p{Surrogate}/u;

/** Why a broker cannot carry the topic; undefined when it can. */
export function topicProblem(topic: string): string | undefined {
  if (!LONE_SURROGATE.test(topic)) return undefined;
  return "The topic contains a lone surrogate, which has no UTF-8 encoding. Use well-formed text.";
}

/** Whether the message has more bytes of UTF-8. */
export function isLarger(message: string, bytes: number): boolean {
  if (message.length * 3 <= bytes) return false;
  return message.length > bytes || byteLength(message) > bytes;
}
