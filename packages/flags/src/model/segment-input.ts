/** Request bodies that create and update a segment. */
import * as z from "zod";
import { conditions, key, line, name, parse } from "./inputs.ts";
import { checkedConditions } from "./rule-input.ts";
import type { FlagSegmentInput, FlagSegmentPatch } from "./segment.ts";

const createFields = z.strictObject({
  key,
  name: name.optional(),
  conditions,
  organizationId: line.optional(),
});

const patchFields = z.strictObject({ name: name.nullish(), conditions: conditions.optional() });

export const createSegmentBody: z.ZodType = createFields;
export const segmentPatchBody: z.ZodType = patchFields;

export function parseSegmentInput(body: unknown): FlagSegmentInput {
  const input = parse(createFields, body);
  return { ...input, conditions: checkedConditions(input.conditions) };
}

export function parseSegmentPatch(body: unknown): FlagSegmentPatch {
  const patch = parse(patchFields, body);
  return patch.conditions === undefined
    ? patch
    : { ...patch, conditions: checkedConditions(patch.conditions) };
}
