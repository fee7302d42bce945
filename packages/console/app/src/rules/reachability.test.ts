import { describe, expect, it } from "vitest";
import { findUnreached } from "./reachability.ts";

const pro = { attribute: "user.plan", operator: "equals", value: "pro" } as const;
const norway = { attribute: "geo.country", operator: "equals", value: "NO" } as const;
const rule = (id: string, conditions: object[], more: object = {}) =>
  ({ id, enabled: true, conditions: { conditions: conditions as never[] }, ...more }) as const;

describe("a rule is never reached", () => {
  it("after a rule for everyone", () => {
    expect([...findUnreached([rule("all", []), rule("late", [pro])])]).toEqual([["late", "all"]]);
  });

  it("after a rule that needs fewer of the same conditions", () => {
    expect([...findUnreached([rule("wide", [pro]), rule("narrow", [pro, norway])])]).toEqual([
      ["narrow", "wide"],
    ]);
    expect([...findUnreached([rule("narrow", [pro, norway]), rule("wide", [pro])])]).toEqual([]);
  });

  it("after a rule for any of several conditions, if it needs one of them", () => {
    const any = { ...rule("any", []), conditions: { operator: "OR" as const, conditions: [pro, norway] } };
    expect([...findUnreached([any, rule("late", [pro])])]).toEqual([["late", "any"]]);
  });

  it("after a rule that counts in all of its environments, not in some", () => {
    const of = (id: string, environments?: readonly string[]) => rule(id, [], { environments });
    expect([...findUnreached([of("all"), of("late", ["beta"])])]).toEqual([["late", "all"]]);
    expect([...findUnreached([of("two", ["beta", "live"]), of("late", ["beta"])])]).toEqual([
      ["late", "two"],
    ]);
    expect([...findUnreached([of("one", ["beta"]), of("two", ["beta", "live"]), of("rest")])]).toEqual([]);
  });

  it("but not after a disabled rule, or one for a share of its users", () => {
    expect([...findUnreached([rule("all", [], { enabled: false }), rule("late", [pro])])]).toEqual([]);
    expect([...findUnreached([rule("all", [], { percentage: 50 }), rule("late", [pro])])]).toEqual([]);
  });
});
