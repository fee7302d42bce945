import { describe, expect, test } from "vitest";
import { HASH_COST } from "../../engine/cost.ts";
import type { FeatureFlag } from "../../model/flag.ts";
import type { FlagRule } from "../../model/rule.ts";
import type { FlagSegment } from "../../model/segment.ts";
import type { Contents } from "./entities.ts";
import { measureUsage } from "./usage.ts";

const AT = new Date(0);

const flagOf = (id: string, fields: Partial<FeatureFlag> = {}): FeatureFlag => ({
  ...{ id, key: id, name: id, type: "json", enabled: true, visibility: "public", algo: 1, version: 1 },
  ...{ createdAt: AT, updatedAt: AT },
  ...fields,
});
const ruleOf = (fields: Partial<FlagRule> = {}): FlagRule => ({
  ...{ id: "r", flagId: "f", priority: 1, conditions: { conditions: [] }, value: 1, enabled: true },
  ...{ salt: "r", position: 1, version: 1, createdAt: AT },
  ...fields,
});
const segmentOf = (values: number): FlagSegment => ({
  ...{ id: "s", key: "beta", version: 1, createdAt: AT, updatedAt: AT },
  conditions: {
    conditions: Array.from({ length: values }, () => ({ attribute: "a", operator: "equals", value: 1 })),
  },
});

interface Parts {
  readonly flags?: readonly FeatureFlag[];
  /** Of the flag "f". */
  readonly rules?: readonly FlagRule[];
  readonly overrides?: Readonly<Record<string, number | string>>;
  readonly segments?: readonly FlagSegment[];
}

function contentsOf({ flags = [flagOf("f")], rules = [], overrides = {}, segments = [] }: Parts): Contents {
  const ofUsers = Object.entries(overrides).map(
    ([userId, value]) => [userId, { id: userId, value, expiresAtMs: Number.POSITIVE_INFINITY }] as const,
  );
  return {
    flags: new Map(flags.map((flag) => [flag.id, flag])),
    rules: new Map(rules.length === 0 ? [] : [["f", new Map(rules.map((rule) => [rule.id, rule]))]]),
    overrides: new Map(ofUsers.length === 0 ? [] : [["f", new Map(ofUsers)]]),
    segments: new Map(segments.map((segment) => [segment.id, segment])),
  };
}

const jsonLength = (...entities: readonly object[]) =>
  entities.reduce((sum, entity) => sum + JSON.stringify(entity).length, 0);

describe("the usage of a tenant", () => {
  test("counts its flags, and the bytes of flags, rules, segments and values of overrides", async () => {
    const [flags, rules, segments] = [[flagOf("f"), flagOf("g")], [ruleOf()], [segmentOf(1)]];
    const contents = contentsOf({ flags, rules, segments, overrides: { u: 1000, v: "é" } });
    const bytes = jsonLength(...flags, ...rules, ...segments) + "1000".length + '"é"'.length + 1;
    expect(await measureUsage(contents)).toMatchObject({ flags: 2, bytes });
    expect(await measureUsage(contents)).toMatchObject({ flags: 2, bytes });
  });

  test.each<[string, Parts, number]>([
    ["no hash for a flag without rules", {}, 0],
    ["one hash for a rollout", { flags: [flagOf("f", { rolloutPercentage: 0 })] }, 1],
    [
      "one hash for a rollout of an environment",
      { flags: [flagOf("f", { environments: { a: {}, b: { rolloutPercentage: 5 } } })] },
      1,
    ],
    [
      "no hash for environments without a rollout",
      { flags: [flagOf("f", { environments: { a: { enabled: true } } })] },
      0,
    ],
    [
      "one hash for variants",
      { flags: [flagOf("f", { variants: [{ key: "a", value: 1, weight: 100 }] })] },
      1,
    ],
    ["no hash for an empty list of variants", { flags: [flagOf("f", { variants: [] })] }, 0],
    [
      "two hashes for a rollout with variants",
      { flags: [flagOf("f", { rolloutPercentage: 5, variants: [{ key: "a", value: 1, weight: 100 }] })] },
      2,
    ],
    [
      "two hashes for two flags with a rollout",
      { flags: ["f", "g"].map((id) => flagOf(id, { rolloutPercentage: 5 })) },
      2,
    ],
  ])("has the cost of %s", async (_what, parts, hashes) => {
    expect((await measureUsage(contentsOf(parts))).cost).toBe(hashes * HASH_COST);
  });

  test("costs a hash for each rule with a percentage", async () => {
    const costOf = async (...percentages: readonly (number | undefined)[]) => {
      const rules = percentages.map((percentage, id) =>
        ruleOf({ id: `${id}`, ...(percentage !== undefined && { percentage }) }),
      );
      return (await measureUsage(contentsOf({ rules }))).cost;
    };
    expect((await costOf(0, undefined, 5)) - (await costOf(undefined, undefined, undefined))).toBe(
      2 * HASH_COST,
    );
  });

  test("costs as much as the segments that its rules name have now", async () => {
    const rules = [ruleOf({ conditions: { conditions: [{ segment: "beta" }] } })];
    const before = contentsOf({ rules, segments: [segmentOf(1)] });
    const after = { ...before, segments: contentsOf({ segments: [segmentOf(5)] }).segments };
    const { cost } = await measureUsage(before);
    expect((await measureUsage(after)).cost).toBeGreaterThan(cost);
    expect((await measureUsage(before)).cost).toBe(cost);
  });

  test("is measured in slices, and only once for each entity", async () => {
    const value = "x".repeat(64 * 1024);
    const flags = Array.from({ length: 12 }, (_, id) => flagOf(`${id}`, { defaultValue: value }));
    const contents = contentsOf({ flags });
    expect(await turnsDuring(() => measureUsage(contents))).toBeGreaterThanOrEqual(2);
    expect(await turnsDuring(() => measureUsage(contents))).toBe(0);
    expect(await turnsDuring(() => measureUsage(contentsOf({ flags: [flagOf("f")] })))).toBe(0);
  });
});

/** How often anything else got its turn during the work. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  const timer = setInterval(() => turns++, 0);
  await work();
  clearInterval(timer);
  return turns;
}
