import { describe, expect, it } from "vitest";
import type { Flag, Rule } from "../../api/types.ts";
import type { Stored } from "./cells.ts";
import { changesOf, environmentsOfChange, planOf } from "./changes.ts";
import {
  addRule,
  applied,
  conflictsOf,
  type Draft,
  deleteRule,
  EMPTY_DRAFT,
  edit,
  isEmpty,
  keepMine,
  moveRule,
  restoreRule,
  ruleOrder,
  takeTheirs,
} from "./draft.ts";
import { missingIn, problemsOf } from "./problems.ts";

const AT = "2026-01-01T00:00:00.000Z";
const flag = {
  id: "f",
  key: "sale",
  name: "Sale",
  type: "boolean",
  enabled: true,
  offValue: false,
  rolloutPercentage: 26,
  environments: { production: { rolloutPercentage: 25 } },
  visibility: "public",
  algo: 1,
  version: 7,
  createdAt: AT,
  updatedAt: AT,
} satisfies Flag;
const pro = { conditions: [{ attribute: "user.plan", operator: "equals", value: "pro" }] } as const;
const rule = (id: string, priority: number, more: Partial<Rule> = {}): Rule => ({
  id,
  flagId: "f",
  priority,
  position: priority,
  version: 3,
  salt: id,
  createdAt: AT,
  conditions: pro,
  value: true,
  enabled: true,
  ...more,
});
const stored: Stored = { flag, rules: [rule("a", 1), rule("b", 2)] };
const production = { environment: "production", field: "rolloutPercentage" } as const;
const rolledOut = (draft: Draft, value: number | undefined, on: Stored = stored): Draft =>
  edit(draft, on, production, value);
const withRollout = (rolloutPercentage: number): Stored => ({
  ...stored,
  flag: { ...flag, version: 8, environments: { production: { rolloutPercentage } } },
});

describe("a draft of a flag", () => {
  it("changes only what was edited, and is empty again when the old value is back", () => {
    const draft = rolledOut(EMPTY_DRAFT, 40);
    expect(applied(draft, stored).flag.environments).toEqual({ production: { rolloutPercentage: 40 } });
    expect(applied(draft, stored).flag.rolloutPercentage).toBe(26);
    expect(isEmpty(rolledOut(draft, 25))).toBe(true);
  });

  it("takes an environment's value back to the flag's own", () => {
    const draft = rolledOut(EMPTY_DRAFT, undefined);
    expect(applied(draft, stored).flag.environments).toEqual({});
    expect(planOf(draft, stored)).toEqual({
      flagId: "f",
      version: 7,
      fields: { environments: { production: { rolloutPercentage: null } } },
    });
  });

  it("keeps null as a value of a JSON flag", () => {
    const json = { ...stored, flag: { ...flag, type: "json" } } satisfies Stored;
    const draft = edit(EMPTY_DRAFT, json, { field: "defaultValue" }, null);
    expect(applied(draft, json).flag).toHaveProperty("defaultValue", null);
    expect(planOf(draft, json)).toMatchObject({ fields: { defaultValue: null } });
  });

  it("adds, edits, moves and deletes rules, and counts each of them as one change", () => {
    let draft = addRule(EMPTY_DRAFT, stored, { value: true });
    draft = edit(draft, stored, { rule: "new-1", field: "conditions" }, pro);
    draft = edit(draft, stored, { rule: "a", field: "percentage" }, 50);
    draft = edit(draft, stored, { rule: "a", field: "name" }, "Nordics");
    draft = deleteRule(draft, stored, "b");
    draft = moveRule(draft, stored, "new-1", 0);
    expect(ruleOrder(draft, stored)).toEqual(["new-1", "a", "b"]);
    expect(changesOf(draft, stored).map(({ kind }) => kind)).toEqual(["edited", "deleted", "added", "order"]);
    expect(planOf(draft, stored)).toEqual({
      flagId: "f",
      version: 7,
      rules: {
        create: [{ conditions: pro, value: true, enabled: true, priority: 1 }],
        update: [{ id: "a", version: 3, fields: { name: "Nordics", percentage: 50, priority: 2 } }],
        delete: [{ id: "b", version: 3 }],
      },
    });
  });

  it("puts a new rule behind all others, without touching them", () => {
    const draft = addRule(EMPTY_DRAFT, stored, { value: true });
    expect(planOf(draft, stored)).toMatchObject({ rules: { create: [{ priority: 3 }] } });
    expect(planOf(draft, stored)).not.toHaveProperty("rules.update");
  });

  it("restores a deleted rule, and forgets a new rule that is deleted", () => {
    expect(isEmpty(restoreRule(deleteRule(EMPTY_DRAFT, stored, "a"), "a"))).toBe(true);
    expect(isEmpty(deleteRule(addRule(EMPTY_DRAFT, stored, {}), stored, "new-1"))).toBe(true);
    const moved = moveRule(addRule(EMPTY_DRAFT, stored, {}), stored, "new-1", 0);
    expect(isEmpty(deleteRule(moved, stored, "new-1"))).toBe(true);
  });

  it("is empty again when a moved rule is back in its place", () => {
    expect(isEmpty(moveRule(moveRule(EMPTY_DRAFT, stored, "b", 0), stored, "b", 1))).toBe(true);
  });
});

describe("a change of another person", () => {
  it("to another field merges silently", () => {
    const draft = rolledOut(EMPTY_DRAFT, 40);
    const later: Stored = {
      flag: {
        ...flag,
        version: 8,
        description: "Hers",
        environments: { ...flag.environments, staging: { enabled: false } },
      },
      rules: [rule("a", 1, { percentage: 10, version: 4 }), rule("b", 2), rule("c", 3)],
    };
    expect(conflictsOf(draft, later)).toEqual([]);
    expect(applied(draft, later).flag.environments).toEqual({
      production: { rolloutPercentage: 40 },
      staging: { enabled: false },
    });
    expect(planOf(draft, later)).toEqual({
      flagId: "f",
      version: 8,
      fields: { environments: { production: { rolloutPercentage: 40 } } },
    });
  });

  it("to the same field is a conflict with the value that was seen, until one of both is chosen", () => {
    const draft = rolledOut(EMPTY_DRAFT, 40);
    const hers = withRollout(30);
    const [conflict] = conflictsOf(draft, hers);
    expect(conflict).toEqual({ kind: "field", cell: production, base: 25, theirs: 30, yours: 40 });
    expect(conflictsOf(rolledOut(draft, 45, hers), hers)).toMatchObject([
      { base: 25, theirs: 30, yours: 45 },
    ]);
    if (conflict === undefined) return;
    expect(isEmpty(takeTheirs(draft, conflict))).toBe(true);
    const mine = keepMine(draft, hers, conflict);
    expect(conflictsOf(mine, hers)).toEqual([]);
    expect(conflictsOf(mine, withRollout(35))).toMatchObject([{ base: 30, theirs: 35, yours: 40 }]);
  });

  it("to the same value is not a conflict", () => {
    const draft = rolledOut(EMPTY_DRAFT, 40);
    expect(conflictsOf(draft, withRollout(40))).toEqual([]);
    expect(changesOf(draft, withRollout(40))).toEqual([]);
  });

  it("that deletes an edited rule lets the person give the edit up, or add the rule again", () => {
    const draft = edit(EMPTY_DRAFT, stored, { rule: "b", field: "percentage" }, 50);
    const gone: Stored = { flag, rules: [rule("a", 1)] };
    const [conflict] = conflictsOf(draft, gone);
    expect(conflict).toMatchObject({ kind: "gone", rule: { id: "b" } });
    if (conflict === undefined) return;
    expect(isEmpty(takeTheirs(draft, conflict))).toBe(true);
    const again = keepMine(draft, gone, conflict);
    expect(conflictsOf(again, gone)).toEqual([]);
    expect(planOf(again, gone)).toMatchObject({ rules: { create: [{ percentage: 50, conditions: pro }] } });
  });

  it("to a rule that the draft deletes is a conflict", () => {
    const draft = deleteRule(EMPTY_DRAFT, stored, "b");
    const changed: Stored = { flag, rules: [rule("a", 1), rule("b", 2, { percentage: 5, version: 4 })] };
    const [conflict] = conflictsOf(draft, changed);
    expect(conflict).toMatchObject({ kind: "changed", rule: { percentage: 5 } });
    if (conflict === undefined) return;
    expect(isEmpty(takeTheirs(draft, conflict))).toBe(true);
    expect(conflictsOf(keepMine(draft, changed, conflict), changed)).toEqual([]);
    expect(planOf(keepMine(draft, changed, conflict), changed)).toMatchObject({
      rules: { delete: [{ id: "b", version: 4 }] },
    });
  });

  it("that adds a rule keeps its place in an order that was changed", () => {
    const three: Stored = { flag, rules: [rule("a", 1), rule("b", 2), rule("c", 3)] };
    const draft = moveRule(EMPTY_DRAFT, three, "c", 0);
    const later: Stored = { flag, rules: [rule("a", 1), rule("x", 2), rule("b", 3), rule("c", 4)] };
    expect(conflictsOf(draft, later)).toEqual([]);
    expect(ruleOrder(draft, later)).toEqual(["c", "a", "x", "b"]);
  });

  it("to the order is a conflict only if both moved the same rules", () => {
    const three: Stored = { flag, rules: [rule("a", 1), rule("b", 2), rule("c", 3)] };
    const other: Stored = { flag, rules: [rule("b", 1), rule("a", 2), rule("c", 3)] };
    const draft = moveRule(EMPTY_DRAFT, three, "c", 0);
    const [conflict] = conflictsOf(draft, other);
    expect(conflict).toMatchObject({ kind: "order" });
    if (conflict === undefined) return;
    expect(ruleOrder(takeTheirs(draft, conflict), other)).toEqual(["b", "a", "c"]);
    expect(ruleOrder(keepMine(draft, other, conflict), other)).toEqual(["c", "a", "b"]);
    const placed = moveRule(addRule(EMPTY_DRAFT, three, {}), three, "new-1", 1);
    expect(conflictsOf(placed, other)).toEqual([]);
    expect(ruleOrder(placed, other)).toEqual(["b", "a", "new-1", "c"]);
  });
});

describe("the environments of a change", () => {
  const known = ["production", "staging"];
  const touched = (draft: Draft) =>
    changesOf(draft, stored).map((change) => environmentsOfChange(change, stored, known));

  it("are those whose people it can move", () => {
    expect(touched(rolledOut(EMPTY_DRAFT, 40))).toEqual([["production"]]);
    // Production has a rollout of its own.
    expect(touched(edit(EMPTY_DRAFT, stored, { field: "rolloutPercentage" }, 5))).toEqual([["staging"]]);
    expect(touched(edit(EMPTY_DRAFT, stored, { field: "name" }, "Other"))).toEqual([[]]);
    expect(touched(deleteRule(EMPTY_DRAFT, stored, "a"))).toEqual([known]);
    expect(touched(addRule(EMPTY_DRAFT, stored, { environments: ["staging"] }))).toEqual([["staging"]]);
  });
});

describe("an incomplete draft", () => {
  it("names the condition and the field that is missing", () => {
    expect(missingIn({ conditions: [] })).toEqual([]);
    expect(
      missingIn({
        conditions: [
          { attribute: "", operator: "equals", value: "pro" },
          { attribute: "email", operator: "ends_with", value: "" },
          { operator: "OR", conditions: [{ segment: "" }, { attribute: "a", operator: "in", value: [] }] },
          { conditions: [] },
        ],
        not: { conditions: [] },
      }),
    ).toEqual([
      { at: "0", what: "attribute" },
      { at: "1", what: "value" },
      { at: "2.0", what: "segment" },
      { at: "2.1", what: "value" },
      { at: "3", what: "group" },
      { at: "not", what: "group" },
    ]);
  });

  it("begins with a new rule, and ends when its condition is filled in or removed", () => {
    const draft = addRule(EMPTY_DRAFT, stored, { value: true });
    expect(problemsOf(draft, applied(draft, stored))).toEqual([
      { rule: "new-1", at: "0", what: "attribute" },
    ]);
    for (const conditions of [pro, { conditions: [] }]) {
      const complete = edit(draft, stored, { rule: "new-1", field: "conditions" }, conditions);
      expect(problemsOf(complete, applied(complete, stored))).toEqual([]);
    }
  });

  it("also has a rule whose variant it removes, or two variants with one key", () => {
    const split: Stored = {
      flag: { ...flag, variants: [{ key: "a", weight: 100, value: true }] },
      rules: [rule("r", 1, { variant: "a" })],
    };
    const without = edit(EMPTY_DRAFT, split, { field: "variants" }, undefined);
    expect(problemsOf(without, applied(without, split))).toEqual([{ rule: "r", at: "", what: "variant" }]);
    const twice = edit(EMPTY_DRAFT, split, { field: "variants" }, [
      { key: "a", weight: 50, value: true },
      { key: "a", weight: 50, value: false },
    ]);
    expect(problemsOf(twice, applied(twice, split))).toEqual([{ at: "1", what: "variant" }]);
  });
});
