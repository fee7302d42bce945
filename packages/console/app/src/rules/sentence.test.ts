import { describe, expect, it } from "vitest";
import { sentenceOf } from "./sentence.ts";

const plan = { attribute: "user.plan", operator: "equals", value: "pro" } as const;
const staff = { attribute: "email", operator: "ends_with", value: "@example.com" } as const;

describe("the sentence of a rule", () => {
  it("is everyone without conditions", () => {
    expect(sentenceOf({ conditions: [] })).toBe("everyone");
  });

  it("joins conditions by the word of their group", () => {
    expect(sentenceOf({ conditions: [plan, staff] })).toBe(
      'user.plan is "pro" and email ends with "@example.com"',
    );
    expect(sentenceOf({ operator: "OR", conditions: [plan, staff] })).toBe(
      'user.plan is "pro" or email ends with "@example.com"',
    );
  });

  it("puts nested groups into brackets, and says what must not hold", () => {
    const nested = { operator: "OR", conditions: [plan, staff] } as const;
    expect(sentenceOf({ conditions: [plan, nested] })).toBe(
      'user.plan is "pro" and (user.plan is "pro" or email ends with "@example.com")',
    );
    expect(sentenceOf({ ...nested, not: { conditions: [plan] } })).toBe(
      '(user.plan is "pro" or email ends with "@example.com") but not (user.plan is "pro")',
    );
  });

  it("names segments and shortens long lists", () => {
    const names = (key: string) => (key === "beta" ? "Beta testers" : undefined);
    expect(sentenceOf({ conditions: [{ segment: "beta" }] }, names)).toBe("in the segment Beta testers");
    const many = { attribute: "geo.country", operator: "in", value: ["NO", "SE", "DK", "FI", "IS"] } as const;
    expect(sentenceOf({ conditions: [many] })).toBe('geo.country is one of "NO", "SE", "DK" and 2 more');
  });
});
