/** Weights of variants: whole numbers that always sum to 100. */
import type { Variant } from "../api/types.ts";

const WHOLE = 100;

/** Gives one variant a weight, and the others the rest in their proportions. */
export function withWeight(variants: readonly Variant[], index: number, weight: number): Variant[] {
  const own = variants.length === 1 ? WHOLE : Math.min(WHOLE, Math.max(0, Math.round(weight)));
  const others = shared(variants.toSpliced(index, 1), WHOLE - own);
  const changed = variants.slice(index, index + 1).map((variant) => ({ ...variant, weight: own }));
  return others.toSpliced(index, 0, ...changed);
}

/** All variants alike, as far as whole numbers allow. */
export function balanced(variants: readonly Variant[]): Variant[] {
  return shared(
    variants.map((variant) => ({ ...variant, weight: 1 })),
    WHOLE,
  );
}

/** The remaining variants keep their proportions. */
export function without(variants: readonly Variant[], index: number): Variant[] {
  return shared(variants.toSpliced(index, 1), WHOLE);
}

/** Whole parts of `total` in the proportions of the weights; what is left goes to the largest fractions. */
function shared(variants: readonly Variant[], total: number): Variant[] {
  const sum = variants.reduce((all, { weight }) => all + weight, 0);
  const parts = variants.map((variant) => {
    const exact = sum === 0 ? total / variants.length : (variant.weight / sum) * total;
    return { variant, whole: Math.floor(exact), fraction: exact % 1 };
  });
  const left = parts.reduce((rest, { whole }) => rest - whole, total);
  const larger = new Set(parts.toSorted((one, other) => other.fraction - one.fraction).slice(0, left));
  return parts.map((part) => ({ ...part.variant, weight: part.whole + (larger.has(part) ? 1 : 0) }));
}
