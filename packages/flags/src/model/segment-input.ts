/** Request bodies that create and update a segment. */
import type * as z from "zod";
import { parse } from "./inputs.ts";
import { inputOf, patchOf } from "./kinds.ts";
import { checkedConditions } from "./rule-input.ts";
import { type FlagSegmentInput, type FlagSegmentPatch, SEGMENT_FIELDS } from "./segment.ts";

const createFields = inputOf(SEGMENT_FIELDS);
const patchFields = patchOf(SEGMENT_FIELDS);

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
