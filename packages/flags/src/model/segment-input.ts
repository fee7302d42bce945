/** The bodies that make and change a segment. */
import * as z from "zod";
import { conditions, key, line, name, parse } from "./inputs.ts";
import { checkedConditions } from "./rule-input.ts";
import type { FlagSegmentInput, FlagSegmentPatch } from "./segment.ts";

const createBody = z.strictObject({
  key,
  name: name.optional(),
  conditions,
  organizationId: line.optional(),
});

const patchBody = z.strictObject({ name: name.nullish(), conditions: conditions.optional() });

export function parseSegmentInput(body: unknown): FlagSegmentInput {
  const input = parse(createBody, body);
  return { ...input, conditions: checkedConditions(input.conditions) };
}

export function parseSegmentPatch(body: unknown): FlagSegmentPatch {
  const patch = parse(patchBody, body);
  return patch.conditions === undefined
    ? patch
    : { ...patch, conditions: checkedConditions(patch.conditions) };
}
