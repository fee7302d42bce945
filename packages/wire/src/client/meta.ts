/** The check of the standard meta keys, with messages that a production build shortens. */
import { isStandardMetaKey } from "../protocol/control.ts";
import { isCorrelationId, type Meta } from "../protocol/envelope.ts";
import { text } from "./texts.ts";

/** Describes what is wrong with the standard meta keys; undefined when they are valid. */
export function problemOfMeta(meta: Meta): string | undefined {
  for (const key in meta) {
    const value = meta[key];
    const isValid = key === "correlationId" ? isCorrelationId(value) : Number.isFinite(value);
    if (isStandardMetaKey(key) && value !== undefined && !isValid) return text("meta", key);
  }
  return undefined;
}
