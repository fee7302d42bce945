import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Variant } from "../api/types.ts";
import { balanced, without, withWeight } from "./variant-weights.ts";

const variants = (...weights: number[]): Variant[] =>
  weights.map((weight, place) => ({ key: `v${place}`, weight, value: place }));
const weightsOf = (list: readonly Variant[]): number[] => list.map(({ weight }) => weight);
const sum = (list: readonly Variant[]): number => weightsOf(list).reduce((all, weight) => all + weight, 0);

describe("the weights of variants", () => {
  it("keep the proportions of the others when one changes", () => {
    expect(weightsOf(withWeight(variants(50, 30, 20), 0, 0))).toEqual([0, 60, 40]);
    expect(weightsOf(withWeight(variants(100, 0, 0), 0, 40))).toEqual([40, 30, 30]);
  });

  it("are alike after balancing", () => {
    expect(weightsOf(balanced(variants(100, 0, 0)))).toEqual([34, 33, 33]);
  });

  it("always sum to 100 and are never negative", () => {
    const list = fc.array(fc.integer({ min: 0, max: 100 }), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(
        list,
        fc.nat(),
        fc.double({ min: -50, max: 200, noNaN: true }),
        (weights, place, weight) => {
          const index = place % weights.length;
          for (const next of [
            withWeight(variants(...weights), index, weight),
            balanced(variants(...weights)),
          ]) {
            expect(sum(next)).toBe(100);
            expect(Math.min(...weightsOf(next))).toBeGreaterThanOrEqual(0);
          }
          if (weights.length > 1) expect(sum(without(variants(...weights), index))).toBe(100);
        },
      ),
    );
  });
});
