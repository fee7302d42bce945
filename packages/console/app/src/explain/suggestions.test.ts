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
      "Raise the rollout to at least 44% to include this person.",
    ]);
  });

  it("is the smallest share of a rule that includes the user", () => {
    const detail = { rule: "1", bucket: 0.5, hash: 1, input: "ada", bucketBy: "userId", percentage: 0 };
    expect(of({ step: "rule", outcome: "outside_percentage", detail })).toEqual([
      "Raise the share of Rule 1 to at least 1%.",
    ]);
  });
});
