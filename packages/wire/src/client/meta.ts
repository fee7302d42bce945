/** The check of the standard meta keys, with messages that a production build shortens. */
import { invalidMetaKey, type Meta } from "../protocol/envelope.ts";
import { text } from "./texts.ts";

/** Describes what is wrong with the standard meta keys; undefined when they are valid. */
export function problemOfMeta(meta: Meta): string | undefined {
  const key = invalidMetaKey(meta);
  return key && text("meta", key);
}
