import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { type CompiledFlag, compileFlag } from "./compile.ts";
import type { EvaluationContext, RuleConditions } from "./definition.ts";
import type { JsonObject, JsonValue } from "./json.ts";

function compile(conditions: RuleConditions): CompiledFlag {
  const rules = [{ id: "r", enabled: true, salt: "s", conditions, value: true }];
  return compileFlag({ key: "flag", type: "boolean", enabled: true, rules }, new Map());
}

function matches(conditions: RuleConditions, context: EvaluationContext): boolean {
  return compile(conditions).evaluate(context).reason === "rule_match";
}

describe("paths", () => {
  const one = (attribute: string, value: JsonValue): RuleConditions => ({
    conditions: [{ attribute, operator: "equals", value }],
  });
  const context: EvaluationContext = {
    userId: "u",
    email: "e",
    role: "r",
    organizationId: "o",
    anonymousId: "an",
    environment: "env",
    device: { type: "mobile" },
    geo: { country: "DE" },
    attributes: {
      plan: "pro",
      userId: "claimed",
      device: "mine",
      nested: { deep: { deeper: 1 } },
      list: [1],
      "a.b": "dotted",
      constructor: "own",
    },
  };

  test.each<[string, JsonValue]>([
    ["userId", "u"],
    ["email", "e"],
    ["role", "r"],
    ["organizationId", "o"],
    ["anonymousId", "an"],
    ["environment", "env"],
    ["device.type", "mobile"],
    ["geo.country", "DE"],
    ["attributes.plan", "pro"],
    ["plan", "pro"],
    ["attributes.userId", "claimed"],
    ["device", "mine"],
    ["nested.deep.deeper", 1],
    ["attributes.nested.deep", { deeper: 1 }],
    ["constructor", "own"],
  ])("%s reads %j", (path, value) => {
    expect(matches(one(path, value), context)).toBe(true);
  });

  test.each([
    "toString",
    "__proto__",
    "nested.constructor",
    "nested.__proto__.x",
    "list.length",
    "list.0",
    "plan.length",
    "a.b",
    "missing",
    "nested.missing.deeper",
    "attributes",
    "geo",
  ])("%s is missing", (path) => {
    const condition = { attribute: path, value: ".*" };
    expect(matches({ conditions: [{ ...condition, operator: "not_equals" }] }, context)).toBe(true);
    expect(matches({ conditions: [{ ...condition, operator: "regex" }] }, context)).toBe(false);
    for (const value of ["", 0, null, {}, []]) expect(matches(one(path, value), context)).toBe(false);
  });

  test("properties of class instances are not read", () => {
    class Person {
      readonly own = "own";
      get plan() {
        return "pro";
      }
    }
    const person = new Person() as unknown as Record<string, JsonValue>;
    expect(matches(one("plan", "pro"), { attributes: person })).toBe(false);
    expect(matches(one("own", "own"), { attributes: person })).toBe(false);
    expect(matches(one("x.own", "own"), { attributes: { x: person } })).toBe(false);
  });

  test("a getter of a class instance is not called", () => {
    class Person {
      get plan(): string {
        throw new Error("called");
      }
    }
    const person = new Person() as unknown as Record<string, JsonValue>;
    expect(matches(one("plan", "pro"), { attributes: person })).toBe(false);
  });

  test.each<[string, unknown]>([
    ["without a prototype", Object.assign(Object.create(null), { plan: "pro" })],
    ["from another realm", runInNewContext('({ plan: "pro" })')],
  ])("attributes of an object %s are read", (_, attributes) => {
    const context = { attributes: attributes as JsonObject };
    expect(matches(one("plan", "pro"), context)).toBe(true);
    expect(matches(one("toString", "pro"), context)).toBe(false);
  });

  test.each<[unknown]>([[null], ["text"], [7], [[1]]])(
    "attributes that are %j have no values",
    (attributes) => {
      const context = { attributes } as unknown as EvaluationContext;
      expect(matches(one("length", 1), context)).toBe(false);
      expect(matches({ conditions: [], not: one("plan", "pro") }, context)).toBe(true);
    },
  );

  test("properties inherited from another realm's Object.prototype are not read", () => {
    const attributes: JsonObject = runInNewContext('Object.prototype.plan = "pro"; ({})');
    expect(matches(one("plan", "pro"), { attributes })).toBe(false);
  });

  test("attributes are read by any of 30 names", () => {
    const names = Array.from({ length: 30 }, (_, index) => `name-${index}`);
    const attributes = Object.fromEntries(names.map((name, index) => [name, index]));
    for (const [index, name] of names.entries()) {
      expect(matches(one(name, index), { attributes })).toBe(true);
      expect(matches(one(name, index + 1), { attributes })).toBe(false);
      expect(matches(one(name, index), { attributes: {} })).toBe(false);
    }
  });

  test("a polluted Object.prototype is not read, even by a flag that was evaluated before", () => {
    const prototype = Object.prototype as unknown as Record<string, unknown>;
    // The first attribute names of a process have slots and are read differently from the others.
    for (const path of ["plan", "polluted", ...Array.from({ length: 10 }, (_, index) => `late-${index}`)]) {
      const compiled = compile(one(path, "yes"));
      const reasonFor = (attributes: JsonObject) => compiled.evaluate({ attributes }).reason;
      expect(reasonFor({ [path]: "yes" })).toBe("rule_match");
      prototype[path] = "yes";
      try {
        expect(reasonFor({})).toBe("default");
        expect(reasonFor({ [path]: "yes" })).toBe("rule_match");
        expect(matches(one(`x.${path}`, "yes"), { attributes: { x: {} } })).toBe(false);
      } finally {
        delete prototype[path];
      }
      expect(reasonFor({})).toBe("default");
    }
  });
});
