/** The request body that creates an override. */
import type * as z from "zod";
import { parse } from "./inputs.ts";
import { inputOf } from "./kinds.ts";
import { type FlagOverrideInput, OVERRIDE_FIELDS } from "./override.ts";

export const createOverrideBody: z.ZodType<FlagOverrideInput> = inputOf(OVERRIDE_FIELDS);

/** Does not check that `expiresAt` is in the future: the store has the clock and checks it. */
export function parseOverrideInput(body: unknown): FlagOverrideInput {
  return parse(createOverrideBody, body);
}
