/** The payload of every message, declared with Zod: one typical chat line. */
import { z } from "zod";

export const fields = {
  room: z.string(),
  user: z.string(),
  text: z.string().max(500),
  seq: z.int(),
  ok: z.boolean(),
};

export const payload = z.strictObject(fields);

/** Returns the payload, or throws. */
export function check(value: unknown): unknown {
  const result = payload.safeParse(value);
  if (!result.success) throw result.error;
  return result.data;
}
