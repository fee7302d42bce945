/** The payload of every message, declared with Valibot: one typical chat line. */
import * as v from "valibot";

export const fields = {
  room: v.string(),
  user: v.string(),
  text: v.pipe(v.string(), v.maxLength(500)),
  seq: v.pipe(v.number(), v.integer()),
  ok: v.boolean(),
};

const payload = v.strictObject(fields);

/** Returns the payload, or throws. */
export function check(value: unknown): unknown {
  const result = v.safeParse(payload, value);
  if (!result.success) throw new v.ValiError(result.issues);
  return result.output;
}
