import { describe, expect, it } from "vitest";
import type { ExplanationStep } from "../api/types.ts";
import { suggestionsOf } from "./suggestions.ts";

const name = (id: string): string => `Rule ${id}`;
const of = (...steps: ExplanationStep[]): string[] => suggestionsOf({ steps }, name);

describe("what would change a decision", () => {
  it("is the switch, where the flag is off", () => {
    expect(of({ step: "enabled", outcome: "disabled", detail: {} })).toEqual(["Turn the flag on."]);
  });

  it("is the smallest rollout that includes the user", () => {
    const detail = { bucket: 43.2, hash: 1, input: "ada", bucketBy: "userId", percentage: 10 };
    expect(of({ step: "rollout", outcome: "excluded", detail })).toEqual([
      "Raise the rollout to at least 44 % to include this user.",
    ]);
  });

  it("is the conditions of a rule that do not hold, with their actual values", () => {
    const conditions = {
      operator: "AND",
      holds: false,
      conditions: [
        { attribute: "user.plan", operator: "equals", expected: "pro", actual: "free", holds: false },
        {
          attribute: "email",
          operator: "ends_with",
          expected: "@example.com",
          actual: "a@example.com",
          holds: true,
        },
      ],
    };
    expect(of({ step: "rule", outcome: "not_matched", detail: { rule: "1", conditions } })).toEqual([
      'Rule 1 matches if user.plan is "pro" (now "free").',
    ]);
  });
});
