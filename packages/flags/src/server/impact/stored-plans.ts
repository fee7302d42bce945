/** Plans as the store keeps them. */
import * as z from "zod";
import { isPlainObject } from "../../engine/json.ts";
import { canonicalJson } from "../../model/canonical-json.ts";
import type { FlagImpact } from "../../model/plan.ts";
import { type Draft, type DraftChange, parsePlanInput } from "../../model/plan-input.ts";
import type { Touched } from "../../store/writes/drift.ts";

export interface StoredPlan {
  readonly tenant: string;
  readonly draft: Draft;
  readonly environments: readonly string[];
  readonly digest: string;
  readonly touched: readonly Touched[];
  /** Without examples. */
  readonly counts: readonly FlagImpact[];
}

export function encodePlan({ draft, counts, ...plan }: StoredPlan): string {
  const input =
    "changes" in draft ? { changes: draft.changes.map(inputOf) } : { revert: { changeId: draft.revert } };
  return JSON.stringify({ ...plan, input, counts: counts.map((impact) => ({ ...impact, examples: [] })) });
}

/** Without versions: drift is judged by fields. */
function inputOf(change: DraftChange): object {
  const { id, fields } = change;
  if (change.kind === "segment") return { segmentId: id, fields };
  const { overrides, rules } = change;
  const update = rules.update.map((rule) => ({ id: rule.id, fields: rule.fields }));
  return {
    flagId: id,
    fields,
    rules: { create: rules.create, update, delete: rules.delete.map((rule) => rule.id) },
    overrides,
  };
}

/** Made by a process of the application, so only the form is checked. */
const stored = z.object({
  tenant: z.string(),
  input: z.unknown(),
  environments: z.array(z.string()),
  digest: z.string(),
  touched: z.array(z.custom<Touched>(isPlainObject)),
  counts: z.array(z.custom<FlagImpact>(isPlainObject)),
});

export function decodePlan(text: string): StoredPlan {
  const { input, ...plan } = stored.parse(JSON.parse(text));
  return { ...plan, draft: parsePlanInput(input).draft };
}

/** Whether as many users go from the same values to the same values. */
export function haveSameCounts(one: readonly FlagImpact[], other: readonly FlagImpact[]): boolean {
  return textOf(one) === textOf(other);
}

function textOf(impacts: readonly FlagImpact[]): string {
  const texts = impacts.map(({ flagId, environment, moves, moved, unknown, removed, created, ignored }) =>
    canonicalJson({
      flagId,
      environment,
      moves: moves.map((move) => canonicalJson(move)).sort(),
      moved,
      unknown,
      removed,
      created,
      ignored,
    }),
  );
  return texts.sort().join("\n");
}
