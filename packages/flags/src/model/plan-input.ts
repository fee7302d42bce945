/** The request body that plans changes. */
import * as z from "zod";
import type { FeatureFlagPatch } from "./flag.ts";
import { flagPatchBody, parseFlagPatch } from "./flag-input.ts";
import { invalid, key, name, parse } from "./inputs.ts";

const MAX_CHANGES = 20;

const change = z
  .strictObject({ flagKey: key.optional(), flagId: name.optional(), fields: flagPatchBody })
  .refine(({ flagKey, flagId }) => (flagKey === undefined) !== (flagId === undefined), {
    error: "must have either flagKey or flagId",
  });

export const planBody: z.ZodType = z.strictObject({
  changes: z.array(change).min(1).max(MAX_CHANGES),
  environment: name.optional(),
});

const planFields = z.strictObject({
  changes: z
    .array(z.strictObject({ flagKey: key.optional(), flagId: name.optional(), fields: z.unknown() }))
    .min(1)
    .max(MAX_CHANGES),
  environment: name.optional(),
});

export interface PlanInput {
  readonly changes: readonly {
    /** An id or a key, as in a path. */
    readonly flag: string;
    readonly fields: FeatureFlagPatch;
  }[];
  readonly environment?: string | undefined;
}

export function parsePlanInput(body: unknown): PlanInput {
  const { changes, environment } = parse(planFields, body);
  return {
    changes: changes.map(({ flagKey, flagId, fields }, at) => {
      if ((flagKey === undefined) === (flagId === undefined)) {
        throw invalid([{ path: `changes.${at}`, message: "must have either flagKey or flagId" }]);
      }
      return { flag: flagId ?? `key:${flagKey}`, fields: parseFlagPatch(fields) };
    }),
    ...(environment !== undefined && { environment }),
  };
}
