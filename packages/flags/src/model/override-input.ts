/** The request body that creates an override. */
import * as z from "zod";
import { isoTime, json, name, parse, text } from "./inputs.ts";
import type { FlagOverrideInput } from "./override.ts";

export const createOverrideBody: z.ZodType<FlagOverrideInput> = z.strictObject({
  flagId: name,
  userId: name,
  value: json,
  enabled: z.boolean().optional(),
  variant: name.optional(),
  reason: text.optional(),
  expiresAt: isoTime.optional(),
});

/** Does not check that `expiresAt` is in the future: the store has the clock and checks it. */
export function parseOverrideInput(body: unknown): FlagOverrideInput {
  return parse(createOverrideBody, body);
}
