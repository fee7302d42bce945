/** The body that makes an override. */
import * as z from "zod";
import { isoTime, json, name, parse, text } from "./inputs.ts";
import type { FlagOverrideInput } from "./override.ts";

const createBody = z.strictObject({
  flagId: name,
  userId: name,
  value: json,
  enabled: z.boolean().optional(),
  variant: name.optional(),
  reason: text.optional(),
  expiresAt: isoTime.optional(),
});

/** Whether `expiresAt` has passed is for the store to say, which has the clock. */
export function parseOverrideInput(body: unknown): FlagOverrideInput {
  return parse(createBody, body);
}
