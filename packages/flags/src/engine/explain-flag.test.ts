import { describe, expect, test } from "vitest";
import { compileFlag } from "./compile.ts";
import type { EvaluationContext, FlagDefinition, RuleConditions, RuleDefinition } from "./definition.ts";
import { murmur3 } from "./murmur.ts";

const SEGMENTS = new Map<string, RuleConditions>([
  ["staff", { conditions: [{ attribute: "email", operator: "ends_with", value: "@x.com" }] }],
]);

function explain(fields: Partial<FlagDefinition>, context: EvaluationContext = {}) {
  const flag = compileFlag({ key: "k", type: "string", enabled: true, rules: [], ...fields }, SEGMENTS);
  return flag.explain(context);
}

function rule(conditions: RuleConditions, fields: Partial<RuleDefinition> = {}): RuleDefinition {
  return { id: "r1", enabled: true, salt: "s", value: "yes", conditions, ...fields };
}

describe("explain", () => {
  test("lists every step in the order of evaluation; the last step determines the result", () => {
    const { result, steps } = explain({
      rules: [rule({ conditions: [] }, { enabled: false }), rule({ conditions: [{ segment: "staff" }] })],
      rolloutPercentage: 0,
    });
    expect(steps.map(({ step, outcome }) => `${step}: ${outcome}`)).toEqual([
      "enabled: enabled",
      "override: none",
      "rule: skipped",
      "rule: not_matched",
      "rollout: excluded",
      "default: default",
    ]);
    expect(result).toEqual({ value: "", reason: "default" });
  });

  test("a disabled flag ends at the first step, which names the environment that disables it", () => {
    const { steps } = explain({ environments: { prod: { enabled: false } } }, { environment: "prod" });
    expect(steps).toEqual([
      { step: "enabled", outcome: "disabled", detail: { environment: "prod", source: "defaultValue" } },
    ]);
  });

  test("a disabled flag names the field that its value is from", () => {
    const { result, steps } = explain({ enabled: false, defaultValue: "on", offValue: "off" });
    expect(result).toEqual({ value: "off", reason: "disabled" });
    expect(steps).toEqual([{ step: "enabled", outcome: "disabled", detail: { source: "offValue" } }]);
  });

  test("an override ends the evaluation", () => {
    const flag = compileFlag({ key: "k", type: "string", enabled: true, rules: [] }, SEGMENTS);
    expect(flag.explain({}, { value: "mine" })).toEqual({
      result: { value: "mine", reason: "override" },
      steps: [
        { step: "enabled", outcome: "enabled", detail: {} },
        { step: "override", outcome: "applied", detail: {} },
      ],
    });
  });

  test("each condition shows its operands and result, inside groups, not and segments", () => {
    const conditions: RuleConditions = {
      operator: "OR",
      conditions: [
        { attribute: "plan", operator: "in", value: ["pro"] },
        { attribute: "age", operator: "greater_than", value: 17 },
      ],
      not: { conditions: [{ segment: "staff" }, { segment: "staff" }] },
    };
    const { steps } = explain(
      { rules: [rule(conditions)] },
      { email: "a@x.com", attributes: { plan: "pro" } },
    );
    const staff = {
      attribute: "email",
      operator: "ends_with",
      expected: "@x.com",
      actual: "a@x.com",
      holds: true,
    };
    expect(steps[2]).toEqual({
      step: "rule",
      outcome: "not_matched",
      detail: {
        rule: "r1",
        conditions: {
          operator: "OR",
          holds: false,
          conditions: [
            { attribute: "plan", operator: "in", expected: ["pro"], actual: "pro", holds: true },
            {
              attribute: "age",
              operator: "greater_than",
              expected: 17,
              holds: false,
              note: "the attribute is missing",
            },
          ],
          not: {
            operator: "AND",
            holds: true,
            conditions: [
              {
                segment: "staff",
                holds: true,
                conditions: { operator: "AND", holds: true, conditions: [staff] },
              },
              // Traced once.
              { segment: "staff", holds: true },
            ],
          },
        },
      },
    });
  });

  test("a regex that does not match because the text is too long has a note about it", () => {
    const conditions: RuleConditions = { conditions: [{ attribute: "x", operator: "regex", value: "a" }] };
    const noteFor = (x: string) =>
      JSON.stringify(explain({ rules: [rule(conditions)] }, { attributes: { x } }).steps[2]);
    expect(noteFor("a".repeat(257))).toContain("text over 256 characters does not match");
    expect(noteFor("b".repeat(256))).not.toContain("note");
  });

  test("a rollout shows the hash input, the hash, the bucket in percent and the threshold", () => {
    const { steps } = explain({ rolloutPercentage: 50, salt: "pepper" }, { userId: "u" });
    const hash = murmur3("u:pepper");
    expect(steps[2]?.detail).toEqual({
      percentage: 50,
      bucketBy: "userId",
      input: "u:pepper",
      hash,
      bucket: (hash / 2 ** 32) * 100,
      threshold: 2 ** 31,
      included: hash < 2 ** 31,
    });
  });

  test("a user outside the percentage of a rule sees the hash of that rule", () => {
    const { steps } = explain(
      { rules: [rule({ conditions: [] }, { percentage: 0 })], bucketBy: "attributes.company.id" },
      { attributes: { company: { id: 7 } } },
    );
    expect(steps[2]).toMatchObject({
      outcome: "outside_percentage",
      detail: { bucketBy: "attributes.company.id", input: "7:k:rule:s", threshold: 0, included: false },
    });
  });

  test("the variant step shows the weight and threshold of every variant", () => {
    const variants = [
      { key: "a", weight: 25, value: "A" },
      { key: "b", weight: 75, value: "B" },
    ];
    const { steps, result } = explain({ variants }, { userId: "u" });
    expect(steps.at(-1)).toEqual({
      step: "variant",
      outcome: result.variant,
      detail: {
        bucketBy: "userId",
        input: "u:k:variant",
        hash: murmur3("u:k:variant"),
        bucket: (murmur3("u:k:variant") / 2 ** 32) * 100,
        shares: [
          { variant: "a", weight: 25, threshold: 2 ** 30 },
          { variant: "b", weight: 75, threshold: 2 ** 32 },
        ],
      },
    });
  });

  test("is JSON even when server code puts other values into the context", () => {
    const conditions: RuleConditions = { conditions: [{ attribute: "x", operator: "equals", value: 1 }] };
    const attributes = { x: (() => 1) as unknown as string };
    const { steps } = explain({ rules: [rule(conditions)] }, { attributes });
    expect(JSON.parse(JSON.stringify(steps))).toEqual(steps);
  });
});
