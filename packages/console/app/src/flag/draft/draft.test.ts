import { describe, expect, it } from "vitest";
import type { Flag, Rule } from "../../api/types.ts";
import type { Stored } from "./cells.ts";
import { Draft } from "./draft.ts";
import { missingIn } from "./problems.ts";

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
const none = new Draft(stored);
const rolledOut = (draft: Draft, value: number | undefined): Draft => draft.set(production, value);
const orderOf = ({ next }: Draft): string[] => next.rules.map(({ id }) => id);
const withRollout = (rolloutPercentage: number): Stored => ({
  ...stored,
  flag: { ...flag, version: 8, environments: { production: { rolloutPercentage } } },
});

describe("a draft of a flag", () => {
  it("changes only what was edited, and is empty again when the old value is back", () => {
    const draft = rolledOut(none, 40);
    expect(draft.next.flag.environments).toEqual({ production: { rolloutPercentage: 40 } });
    expect(draft.next.flag.rolloutPercentage).toBe(26);
    expect(rolledOut(draft, 25).isEmpty).toBe(true);
  });

  it("takes an environment's value back to the flag's own", () => {
    const draft = rolledOut(none, undefined);
    expect(draft.next.flag.environments).toEqual({});
    expect(draft.plan).toEqual({
      flagId: "f",
      version: 7,
      fields: { environments: { production: { rolloutPercentage: null } } },
    });
  });

  it("keeps null as a value of a JSON flag", () => {
    const json = { ...stored, flag: { ...flag, type: "json" } } satisfies Stored;
    const draft = new Draft(json).set({ field: "defaultValue" }, null);
    expect(draft.next.flag).toHaveProperty("defaultValue", null);
    expect(draft.plan).toMatchObject({ fields: { defaultValue: null } });
  });

  it("adds, edits, moves and deletes rules, and counts each of them as one change", () => {
    const draft = none
      .addRule({ value: true })
      .set({ rule: "new-1", field: "conditions" }, pro)
      .set({ rule: "a", field: "percentage" }, 50)
      .set({ rule: "a", field: "name" }, "Nordics")
      .deleteRule("b")
      .moveRule("new-1", 0);
    expect(orderOf(draft)).toEqual(["new-1", "a", "b"]);
    expect(draft.isDeleted("b")).toBe(true);
    expect(draft.changes.map(({ kind }) => kind)).toEqual(["edited", "deleted", "added", "order"]);
    expect(draft.plan).toEqual({
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
    const { plan } = none.addRule({ value: true });
    expect(plan).toMatchObject({ rules: { create: [{ priority: 3 }] } });
    expect(plan).not.toHaveProperty("rules.update");
  });

  it("restores a deleted rule, and forgets a new rule that is deleted", () => {
    expect(none.deleteRule("a").restoreRule("a").isEmpty).toBe(true);
    const added = none.addRule({});
    expect(added.deleteRule("new-1").isEmpty).toBe(true);
    expect(added.moveRule("new-1", 0).deleteRule("new-1").isEmpty).toBe(true);
  });

  it("is empty again when a moved rule is back in its place", () => {
    const moved = none.moveRule("b", 0);
    expect(moved.isEmpty).toBe(false);
    expect(moved.moveRule("b", 1).isEmpty).toBe(true);
  });
});

describe("a change of another person", () => {
  const three: Stored = { flag, rules: [rule("a", 1), rule("b", 2), rule("c", 3)] };

  it("to another field merges silently", () => {
    const draft = rolledOut(none, 40).onto({
      flag: {
        ...flag,
        version: 8,
        description: "Hers",
        environments: { ...flag.environments, staging: { enabled: false } },
      },
      rules: [rule("a", 1, { percentage: 10, version: 4 }), rule("b", 2), rule("c", 3)],
    });
    expect(draft.conflicts).toEqual([]);
    expect(draft.next.flag.environments).toEqual({
      production: { rolloutPercentage: 40 },
      staging: { enabled: false },
    });
    expect(draft.plan).toEqual({
      flagId: "f",
      version: 8,
      fields: { environments: { production: { rolloutPercentage: 40 } } },
    });
  });

  it("to the same field is a conflict with the value that was seen, until one of both is chosen", () => {
    const draft = rolledOut(none, 40).onto(withRollout(30));
    const [conflict] = draft.conflicts;
    expect(conflict).toEqual({ kind: "field", cell: production, base: 25, theirs: 30, yours: 40 });
    expect(rolledOut(draft, 45).conflicts).toMatchObject([{ base: 25, theirs: 30, yours: 45 }]);
    expect(draft.onto(withRollout(35)).conflicts).toMatchObject([{ base: 25, theirs: 35, yours: 40 }]);
    if (conflict === undefined) return;
    expect(draft.choose(conflict, false).isEmpty).toBe(true);
    const mine = draft.choose(conflict, true);
    expect(mine.conflicts).toEqual([]);
    expect(mine.onto(withRollout(35)).conflicts).toMatchObject([{ base: 30, theirs: 35, yours: 40 }]);
  });

  it("to the same value is not a conflict, and leaves nothing to save", () => {
    expect(rolledOut(none, 40).onto(withRollout(40)).isEmpty).toBe(true);
  });

  it("that deletes an edited rule lets the person give the edit up, or add the rule again", () => {
    const draft = none.set({ rule: "b", field: "percentage" }, 50).onto({ flag, rules: [rule("a", 1)] });
    const [conflict] = draft.conflicts;
    expect(conflict).toMatchObject({ kind: "gone", rule: { id: "b" } });
    expect(orderOf(draft)).toEqual(["a"]);
    if (conflict === undefined) return;
    expect(draft.choose(conflict, false).isEmpty).toBe(true);
    const again = draft.choose(conflict, true);
    expect(again.conflicts).toEqual([]);
    expect(again.plan).toMatchObject({ rules: { create: [{ percentage: 50, conditions: pro }] } });
  });

  it("to a rule that the draft deletes is a conflict", () => {
    const draft = none
      .deleteRule("b")
      .onto({ flag, rules: [rule("a", 1), rule("b", 2, { percentage: 5, version: 4 })] });
    const [conflict] = draft.conflicts;
    expect(conflict).toMatchObject({ kind: "changed", rule: { percentage: 5 } });
    if (conflict === undefined) return;
    expect(draft.choose(conflict, false).isEmpty).toBe(true);
    const mine = draft.choose(conflict, true);
    expect(mine.conflicts).toEqual([]);
    expect(mine.plan).toMatchObject({ rules: { delete: [{ id: "b", version: 4 }] } });
  });

  it("that deletes what the draft deletes, or leaves alone, is not a conflict", () => {
    const gone = { flag, rules: [rule("a", 1)] };
    expect(none.deleteRule("b").onto(gone).isEmpty).toBe(true);
    expect(orderOf(rolledOut(none, 40).onto(gone))).toEqual(["a"]);
  });

  it("that adds a rule keeps its place in an order that was changed", () => {
    const later: Stored = { flag, rules: [rule("a", 1), rule("x", 2), rule("b", 3), rule("c", 4)] };
    const draft = new Draft(three).moveRule("c", 0).onto(later);
    expect(draft.conflicts).toEqual([]);
    expect(orderOf(draft)).toEqual(["c", "a", "x", "b"]);
  });

  it("that adds a rule at the end leaves a new rule of the draft behind it, and moves none", () => {
    const draft = none.addRule({}).onto({ flag, rules: [...stored.rules, rule("x", 3)] });
    expect(orderOf(draft)).toEqual(["a", "b", "x", "new-1"]);
    expect(draft.changes.map(({ kind }) => kind)).toEqual(["added"]);
  });

  it("to the order is a conflict only if both moved the same rules", () => {
    const other: Stored = { flag, rules: [rule("b", 1), rule("a", 2), rule("c", 3)] };
    const draft = new Draft(three).moveRule("c", 0).onto(other);
    const [conflict] = draft.conflicts;
    expect(conflict).toMatchObject({ kind: "order" });
    if (conflict === undefined) return;
    expect(orderOf(draft.choose(conflict, false))).toEqual(["b", "a", "c"]);
    const mine = draft.choose(conflict, true);
    expect(mine.conflicts).toEqual([]);
    expect(orderOf(mine)).toEqual(["c", "a", "b"]);
    const placed = new Draft(three).addRule({}).moveRule("new-1", 1).onto(other);
    expect(placed.conflicts).toEqual([]);
    expect(orderOf(placed)).toEqual(["b", "a", "new-1", "c"]);
  });
});

describe("the environments of a draft", () => {
  const known = ["production", "staging"];

  it("are those whose people it can move", () => {
    expect(rolledOut(none, 40).touches(known)).toEqual(["production"]);
    // Production has a rollout of its own.
    expect(none.set({ field: "rolloutPercentage" }, 5).touches(known)).toEqual(["staging"]);
    expect(none.set({ field: "name" }, "Other").touches(known)).toEqual([]);
    expect(none.deleteRule("a").touches(known)).toEqual(known);
    expect(none.addRule({ environments: ["staging"] }).touches(known)).toEqual(["staging"]);
    expect(none.set({ rule: "a", field: "environments" }, ["staging"]).touches(known)).toEqual([
      "production",
    ]);
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
    const draft = none.addRule({ value: true });
    expect(draft.problems).toEqual([{ rule: "new-1", at: "0", what: "attribute" }]);
    for (const conditions of [pro, { conditions: [] }])
      expect(draft.set({ rule: "new-1", field: "conditions" }, conditions).problems).toEqual([]);
  });

  it("also has a rule whose variant it removes, or two variants with one key", () => {
    const split: Stored = {
      flag: { ...flag, variants: [{ key: "a", weight: 100, value: true }] },
      rules: [rule("r", 1, { variant: "a" })],
    };
    const without = new Draft(split).set({ field: "variants" }, undefined);
    expect(without.problems).toEqual([{ rule: "r", at: "", what: "variant" }]);
    const twice = new Draft(split).set({ field: "variants" }, [
      { key: "a", weight: 50, value: true },
      { key: "a", weight: 50, value: false },
    ]);
    expect(twice.problems).toEqual([{ at: "1", what: "variant" }]);
  });
});
