/** A frame of the server, which may be anything: taken apart, and what belongs to the protocol removed from its meta. */
import { type Envelope, isObject, problemOfMeta, tidyMeta } from "../protocol/envelope.ts";
import { MAX_FRAME_CHARACTERS } from "./bounds.ts";
import type { ClientOptions } from "./options.ts";

/** An envelope, or what is wrong with it beside as much of it as could be read. */
export type Frame = Envelope | (Omit<Envelope, "problem"> & { readonly problem: string });

export function parse(frame: unknown, unknownKeys: ClientOptions["unknownKeys"]): Frame {
  const fields = fieldsOf(frame);
  const { type, meta: given = {}, payload } = fields;
  const meta = isObject(given) ? given : {};
  const problem =
    !type || typeof type !== "string" || meta !== given
      ? "The frame is not a JSON object with a type."
      : unknownKeys === "strip" || Object.keys(fields).every((key) => ROOT_KEYS.includes(key))
        ? problemOfMeta(meta)
        : 'The frame has an unknown key. unknownKeys: "strip" passes over it.';
  return { problem, type, meta, payload, hasCustomMeta: tidyMeta(meta) } as Frame;
}

const ROOT_KEYS = ["type", "meta", "payload"];

/** None, when it is binary, too large, or not JSON. */
function fieldsOf(frame: unknown): Record<string, unknown> {
  try {
    const parsed =
      typeof frame === "string" && frame.length <= MAX_FRAME_CHARACTERS && (JSON.parse(frame) as unknown);
    if (isObject(parsed)) return parsed;
  } catch {}
  return {};
}
