/** The request body of an exposure report. Unknown keys are ignored, so that a newer client works with an older server. */
import * as z from "zod";
import { isPlainObject } from "../engine/json.ts";
import { overLimit, parse } from "./inputs.ts";

const MAX_TOKENS = 1000;

/** Tokens of the flags that were shown, from the field `exposures` of evaluation responses. */
export type FeatureFlagExposuresInput = {
  /** 1 to 1,000 tokens. */
  exposures: readonly string[];
};

/** How many tokens the server accepted and refused. A token that was reported before is accepted, and counts once. */
export type FeatureFlagExposuresResult = { success: number; failed: number };

/** At run time each token is checked by itself, so that an invalid token does not fail the others. */
const report: z.ZodType<{ readonly exposures: readonly unknown[] }> = z.object({
  exposures: z.array(z.unknown()).min(1),
});

/** The documented form. */
export const exposuresBody: z.ZodType = z.object({ exposures: z.array(z.string()).min(1).max(MAX_TOKENS) });

export function parseExposuresInput(body: unknown): readonly unknown[] {
  if (isPlainObject(body) && Array.isArray(body["exposures"]) && body["exposures"].length > MAX_TOKENS) {
    throw overLimit("The report has too many tokens.", MAX_TOKENS, "Send the rest in another call.");
  }
  return parse(report, body).exposures;
}
