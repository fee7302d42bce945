import { describe, expect, test } from "vitest";
import { compileFlag } from "./compile.ts";
import type { EvaluationContext, FlagDefinition, RuleConditions, Segments } from "./definition.ts";
import type { Path } from "./path.ts";

const when = (attribute: string, operator: "equals" | "not_equals", value: string): RuleConditions => ({
  conditions: [{ attribute, operator, value }],
});
const SEGMENTS: Segments = new Map([
  ["paying", when("user.plan", "equals", "pro")],
  ["outer", { conditions: [], not: { conditions: [{ segment: "paying" }] } }],
]);

/** Each rule gives its index. */
function compile(trees: readonly RuleConditions[], fields: Partial<FlagDefinition> = {}) {
  const rules = trees.map((conditions, index) => ({
    id: `r${index}`,
    enabled: true,
    salt: "s",
    conditions,
    value: index,
  }));
  return compileFlag(
    { key: "k", type: "number", enabled: true, defaultValue: -1, rules, ...fields },
    SEGMENTS,
  );
}

/** The value, for which the graph and the explanation must agree. */
function evaluated(
  trees: readonly RuleConditions[],
  context: EvaluationContext,
  fields?: Partial<FlagDefinition>,
) {
  const flag = compile(trees, fields);
  const { value } = flag.evaluate(context);
  expect(flag.explain(context).result.value).toBe(value);
  return value;
}

const READING: readonly (readonly [string, RuleConditions])[] = [
  ["a comparison", when("user.plan", "equals", "pro")],
  ["a negated operator", when("user.plan", "not_equals", "free")],
  ["not", { conditions: [], not: when("user.plan", "equals", "free") }],
  ["not in not", { conditions: [], not: { conditions: [], not: when("user.plan", "equals", "pro") } }],
  ["a group", { conditions: [{ operator: "OR", conditions: [when("user.plan", "equals", "pro")] }] }],
  [
    "a condition after one that decides",
    { operator: "OR", conditions: [{ conditions: [] }, when("user.plan", "equals", "pro")] },
  ],
  ["a segment", { conditions: [{ segment: "paying" }] }],
  ["a negated segment", { conditions: [], not: { conditions: [{ segment: "outer" }] } }],
];

describe("a rule that reads a trusted root by", () => {
  test.for(READING)(
    "%s matches when it holds, and is skipped when the root could not be read",
    ([_name, conditions]) => {
      expect(evaluated([conditions], { user: { plan: "pro" } })).toBe(0);
      expect(evaluated([conditions], { unreadable: ["user"] })).toBe(-1);
      expect(evaluated([conditions, { conditions: [] }], { unreadable: ["user"] })).toBe(1);
      expect(compile([conditions]).trustedRoots).toEqual(new Set(["user"]));
    },
  );
});

test("a root that could not be read skips no other rule", () => {
  const trees = [when("trusted.seats", "not_equals", "1"), when("user.plan", "equals", "pro")];
  expect(evaluated(trees, { user: { plan: "pro" }, unreadable: ["trusted"] })).toBe(1);
  expect(evaluated(trees, { trusted: {}, unreadable: ["user"] })).toBe(0);
  expect(evaluated(trees, { unreadable: ["user", "trusted"] })).toBe(-1);
});

test("a rule that reads two roots needs both", () => {
  const both = { conditions: [when("user.plan", "not_equals", "x"), when("trusted.a", "not_equals", "x")] };
  expect(evaluated([both], { user: {}, trusted: {} })).toBe(0);
  expect(evaluated([both], { trusted: {}, unreadable: ["user"] })).toBe(-1);
  expect(evaluated([both], { user: {}, unreadable: ["trusted"] })).toBe(-1);
});

test("a missing root makes attributes missing, and skips no rule", () => {
  expect(evaluated([when("user.plan", "not_equals", "x")], {})).toBe(0);
  expect(evaluated([when("user.plan", "equals", "x")], {})).toBe(-1);
});

test("rules are skipped in an environment with its own settings too", () => {
  const environments = { prod: { defaultValue: -2 } };
  const trees = [when("user.plan", "not_equals", "x")];
  expect(evaluated(trees, { unreadable: ["user"], environment: "prod" }, { environments })).toBe(-2);
  expect(evaluated(trees, { user: {}, environment: "prod" }, { environments })).toBe(0);
});

test("trusted roots are not read from attributes, and the other way round", () => {
  const attributes = { user: { plan: "pro" } };
  expect(evaluated([when("user.plan", "equals", "pro")], { attributes })).toBe(-1);
  expect(evaluated([when("attributes.user.plan", "equals", "pro")], { attributes })).toBe(0);
  expect(evaluated([when("user", "equals", "x")], { attributes: { user: "x" } })).toBe(0);
  expect(evaluated([when("plan", "equals", "pro")], { user: { plan: "pro" } })).toBe(-1);
});

test("flags that read none list none", () => {
  expect(compile([when("userId", "equals", "u"), { conditions: [] }]).trustedRoots.size).toBe(0);
});

test("an explanation says why a rule was skipped, and the origin of each attribute", () => {
  const flag = compile([when("user.plan", "equals", "pro"), when("beta", "equals", "yes")]);
  const originOf = ({ root, steps }: Path) => [root, ...steps].join("/");
  const skipped = flag.explain({ unreadable: ["user"] }, undefined, originOf).steps[2];
  expect(skipped).toEqual({
    step: "rule",
    outcome: "skipped",
    detail: { rule: "r0", why: "the rule reads user, which could not be read" },
  });
  const { steps } = flag.explain({ user: { plan: "free" } }, undefined, originOf);
  expect(steps.slice(2, 4).map(({ detail }) => detail["conditions"])).toMatchObject([
    { conditions: [{ attribute: "user.plan", actual: "free", origin: "user/plan", holds: false }] },
    { conditions: [{ attribute: "beta", origin: "attributes/beta", holds: false }] },
  ]);
});
