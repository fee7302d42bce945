/** The request body that plans changes. */
import { uuidv7 } from "@halyard/base";
import * as z from "zod";
import { isPlainObject } from "../engine/json.ts";
import type { FeatureFlagPatch } from "./flag.ts";
import { flagPatchBody, parseFlagPatch } from "./flag-input.ts";
import { invalid, key, name, parse } from "./inputs.ts";
import type { FlagOverrideInput } from "./override.ts";
import { createOverrideBody, parseOverrideInput } from "./override-input.ts";
import type { FlagRuleInput, FlagRulePatch } from "./rule.ts";
import { createRuleBody, parseRuleInput, parseRulePatch, rulePatchBody } from "./rule-input.ts";
import type { FlagSegmentPatch } from "./segment.ts";
import { parseSegmentPatch, segmentPatchBody } from "./segment-input.ts";

const MAX_CHANGES = 100;
const MAX_ENVIRONMENTS = 10;
/** Rules or overrides in one list of a change. */
const MAX_LIST = 1000;

/** An entity that a change names, and the version that the caller has seen. */
interface Named {
  readonly id: string;
  readonly version?: number | undefined;
}

export interface DraftFlagChange extends Named {
  readonly kind: "flag";
  readonly fields: FeatureFlagPatch;
  readonly rules: {
    readonly create: readonly FlagRuleInput[];
    readonly update: readonly (Named & { readonly fields: FlagRulePatch })[];
    readonly delete: readonly Named[];
  };
  readonly overrides: {
    readonly create: readonly Omit<FlagOverrideInput, "flagId">[];
    readonly delete: readonly string[];
  };
}

export interface DraftSegmentChange extends Named {
  readonly kind: "segment";
  readonly fields: FlagSegmentPatch;
}

/** A parsed change. In a request, `id` is an id or a key, as in a path. */
export type DraftChange = DraftFlagChange | DraftSegmentChange;

/** What is planned: changes, or the revert of the change with this id. */
export type Draft = { readonly changes: readonly DraftChange[] } | { readonly revert: string };

export interface PlanInput {
  readonly draft: Draft;
  /** Undefined: the default environment. */
  readonly environments: readonly string[] | undefined;
  readonly isPreview: boolean;
}

const version = z.number().min(1).multipleOf(1).optional();
const listOf = <Item extends z.ZodType>(item: Item) => z.array(item).max(MAX_LIST).optional();

/** The body, with the given schemas for what has a parser of its own. */
const bodyWith = (fields: z.ZodType, rule: z.ZodType, rulePatch: z.ZodType, override: z.ZodType) =>
  z.strictObject({
    changes: z
      .array(
        z.strictObject({
          flagKey: key.optional(),
          flagId: name.optional(),
          segmentKey: key.optional(),
          segmentId: name.optional(),
          version,
          fields: fields.optional(),
          rules: z
            .strictObject({
              create: listOf(rule),
              update: listOf(z.strictObject({ id: name, version, fields: rulePatch })),
              delete: listOf(z.union([name, z.strictObject({ id: name, version })])),
            })
            .optional(),
          overrides: z.strictObject({ create: listOf(override), delete: listOf(name) }).optional(),
        }),
      )
      .min(1)
      .max(MAX_CHANGES)
      .optional(),
    revert: z.strictObject({ changeId: name }).optional(),
    environment: name.optional(),
    environments: z.array(name).min(1).max(MAX_ENVIRONMENTS).optional(),
    preview: z.boolean().optional(),
  });

export const planBody: z.ZodType = bodyWith(
  z.union([flagPatchBody, segmentPatchBody]),
  createRuleBody,
  rulePatchBody,
  createOverrideBody,
);
const planFields = bodyWith(z.unknown(), z.unknown(), z.unknown(), z.unknown());
type GivenChange = NonNullable<z.infer<typeof planFields>["changes"]>[number];

export function parsePlanInput(body: unknown): PlanInput {
  const { changes, revert, environment, environments, preview } = parse(planFields, body);
  if (environment !== undefined && environments !== undefined) {
    throw invalid([{ path: "environments", message: "cannot be given with environment; leave one out" }]);
  }
  return {
    draft: draftOf(changes, revert?.changeId),
    environments: environment === undefined ? environments && [...new Set(environments)] : [environment],
    isPreview: preview === true,
  };
}

function draftOf(changes: readonly GivenChange[] | undefined, revert: string | undefined): Draft {
  if (changes !== undefined && revert === undefined) return { changes: changes.map(parseChange) };
  if (changes === undefined && revert !== undefined) return { revert };
  throw invalid([{ path: "changes", message: "must be given, unless the plan has revert" }]);
}

function parseChange(given: GivenChange, at: number): DraftChange {
  const { flagKey, flagId, segmentKey, segmentId, version: seen, fields = {}, rules, overrides } = given;
  const refuse = (message: string) => invalid([{ path: `changes.${at}`, message }]);
  if ([flagKey, flagId, segmentKey, segmentId].filter((named) => named !== undefined).length !== 1) {
    throw refuse("must have either flagKey or flagId, or one of segmentKey and segmentId");
  }
  const flag = flagId ?? (flagKey && `key:${flagKey}`);
  if (flag === undefined) {
    if (rules !== undefined || overrides !== undefined)
      throw refuse("a segment has no rules and no overrides");
    const id = segmentId ?? `key:${segmentKey}`;
    return { kind: "segment", id, version: seen, fields: parseSegmentPatch(fields) };
  }
  const dropped = (rules?.delete ?? []).map((rule) => (typeof rule === "string" ? { id: rule } : rule));
  const changed = (rules?.update ?? []).map((rule) => ({ ...rule, fields: parseRulePatch(rule.fields) }));
  const added = (overrides?.create ?? []).map((override) => parseOverride(override, at));
  if (hasTwice([...dropped, ...changed].map(({ id }) => id))) throw refuse("names a rule twice");
  if (hasTwice(overrides?.delete ?? [])) throw refuse("names an override twice");
  if (hasTwice(added.map(({ userId }) => userId))) throw refuse("has two overrides of one user");
  return {
    kind: "flag",
    id: flag,
    version: seen,
    fields: parseFlagPatch(fields),
    rules: { create: (rules?.create ?? []).map(parseRule), update: changed, delete: dropped },
    overrides: { create: added, delete: overrides?.delete ?? [] },
  };
}

/** The salt is chosen now, so that applying the plan includes the users that were counted. */
function parseRule(given: unknown): FlagRuleInput {
  const rule = parseRuleInput(given);
  return { ...rule, salt: rule.salt ?? uuidv7() };
}

function parseOverride(given: unknown, at: number): Omit<FlagOverrideInput, "flagId"> {
  if (!isPlainObject(given) || "flagId" in given) {
    const message = "must be an override without flagId, which is that of the change";
    throw invalid([{ path: `changes.${at}.overrides.create`, message }]);
  }
  const { flagId: _flagId, ...override } = parseOverrideInput({ ...given, flagId: "-" });
  return override;
}

function hasTwice(ids: readonly string[]): boolean {
  return new Set(ids).size < ids.length;
}
