/** Tells a message schema from everything else. */
import type { AnyMessageSchema } from "./message.ts";

/** Whether the value was made by `message()` or `rpc()`. */
export function isMessageSchema(value: unknown): value is AnyMessageSchema {
  return (
    typeof value === "object" &&
    value !== null &&
    !("~standard" in value) &&
    "type" in value &&
    typeof value.type === "string"
  );
}

/** The text of an error: JavaScript callers may pass the message type instead of its schema. */
export function notASchema(where: string, value: unknown): string {
  const isType = typeof value === "string";
  const got = isType ? `the string "${value}"` : String(value);
  const type = isType ? value : "MY_MESSAGE";
  return `${where} needs a message schema, but got ${got}. Declare the message with message("${type}", …) or rpc("${type}", …), and pass what it returns.`;
}
