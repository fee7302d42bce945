import { compileFlag } from "@halyard/flags/engine";
import { sized } from "@halyard/services";
import { describe, expect, test } from "vitest";
import { Generator } from "./generate.ts";
import { createRandom, seedOfRun } from "./random.ts";
import { referenceEvaluate } from "./reference.ts";

const FLAGS = sized(40_000, 10_000);
const CONTEXTS = 5;
/** Explaining is slow, so only one flag in 4 is explained. */
const EXPLAIN_EVERY = 4;

describe("evaluation", () => {
  test(`evaluate and explain agree with the reference implementation on ${FLAGS * CONTEXTS} generated evaluations`, () => {
    const seed = seedOfRun();
    const generator = new Generator(createRandom(seed));
    const reasons = new Map<string, number>();
    for (let index = 0; index < FLAGS; index++) {
      const { flag, segments } = generator.flag();
      const compiled = compileFlag(flag, segments);
      for (let turn = 0; turn < CONTEXTS; turn++) {
        const context = generator.context();
        const override = generator.override();
        const result = compiled.evaluate(context, override);
        const hint = () => JSON.stringify({ seed, flag, segments: [...segments], context, override });
        const expected = referenceEvaluate(flag, segments, context, override);
        // Vitest's comparison takes 20 times as long as the rest, so it runs only for results that differ.
        if (text(result) !== text(expected)) expect(result, hint()).toEqual(expected);
        if (index % EXPLAIN_EVERY === 0) {
          const explained = compiled.explain(context, override);
          if (text(explained.result) !== text(result)) expect(explained.result, hint()).toEqual(result);
          if (explained.steps.length === 0) expect.unreachable(hint());
        }
        reasons.set(result.reason, (reasons.get(result.reason) ?? 0) + 1);
      }
    }
    // The test proves little unless the generated data reaches every reason.
    for (const reason of ["rule_match", "override", "percentage_rollout", "default", "disabled"]) {
      expect(reasons.get(reason), reason).toBeGreaterThan((FLAGS * CONTEXTS) / 100);
    }
  }, 60_000);
});

/** JSON with sorted keys. */
function text(result: object): string {
  const entries = Object.entries(result).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify(entries);
}
