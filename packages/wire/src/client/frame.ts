/** Parses a frame of the server, which is not trusted. */
import { isObject } from "../protocol/checks.ts";
import type { Envelope } from "../protocol/envelope.ts";
import { MAX_FRAME_CHARACTERS } from "./bounds.ts";
import { problemOfMeta } from "./meta.ts";
import type { ClientOptions } from "./options.ts";
import { text } from "./texts.ts";

/** An envelope, or the problem with it and the parts that could be read. */
export type Frame = Envelope | (Omit<Envelope, "problem"> & { readonly problem: string });

export function parse(frame: unknown, unknownKeys: ClientOptions["unknownKeys"]): Frame {
  const { type, meta: metaField = {}, payload, ...others } = fieldsOf(frame);
  const meta = isObject(metaField) ? metaField : {};
  const problem =
    !type || typeof type !== "string" || meta !== metaField
      ? text("frame")
      : unknownKeys === "strip" || !Object.keys(others).length
        ? problemOfMeta(meta)
        : text("unknownKeys");
  // Without `hasCustom`, which only a server reads.
  return { problem, type, meta, payload } as Frame;
}

/** Empty when the frame is binary, too large, or not a JSON object. */
function fieldsOf(frame: unknown): Record<string, unknown> {
  try {
    const parsed =
      typeof frame === "string" && frame.length <= MAX_FRAME_CHARACTERS && (JSON.parse(frame) as unknown);
    if (isObject(parsed)) return parsed;
  } catch {}
  return {};
}
