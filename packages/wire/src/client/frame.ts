/** A frame of the server, which may be anything: taken apart, and what belongs to the protocol removed from its meta. */
import { type Envelope, isObject, problemOfMeta, tidyMeta } from "../protocol/envelope.ts";
import { MAX_FRAME_CHARACTERS } from "./bounds.ts";
import type { ClientOptions } from "./options.ts";

/** An envelope, or what is wrong with it beside as much of it as could be read. */
export type Frame = Envelope | (Omit<Envelope, "problem"> & { readonly problem: string });

export function parse(frame: unknown, unknownKeys: ClientOptions["unknownKeys"]): Frame {
  const { type, meta: given = {}, payload, ...others } = fieldsOf(frame);
  const meta = isObject(given) ? given : {};
  const isKnown = unknownKeys === "strip" || Object.keys(others).length === 0;
  const isFrame = type && typeof type === "string" && meta === given && isKnown;
  const problem = isFrame ? problemOfMeta(meta) : "The frame is not JSON of type, meta and payload alone.";
  return { problem, type, meta, payload, hasCustomMeta: tidyMeta(meta) } as Frame;
}

/** None, when it is binary, too large, or not JSON. */
function fieldsOf(frame: unknown): Record<string, unknown> {
  try {
    return typeof frame === "string" && frame.length <= MAX_FRAME_CHARACTERS ? Object(JSON.parse(frame)) : {};
  } catch {
    return {};
  }
}
