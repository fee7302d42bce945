/** Weights of variants: whole numbers that always sum to 100. */
import type { Variant } from "../api/types.ts";

const WHOLE = 100;

/** Gives one variant a weight, and the others the rest in their proportions. */
export function withWeight(variants: readonly Variant[], index: number, weight: number): Variant[] {
  if (variants.length === 1) return variants.map((variant) => ({ ...variant, weight: WHOLE }));
  const own = Math.min(WHOLE, Math.max(0, Math.round(weight)));
  const others = share(
    variants.map((variant, place) => (place === index ? 0 : variant.weight)),
    WHOLE - own,
    index,
  );
  return variants.map((variant, place) => ({
    ...variant,
    weight: place === index ? own : (others[place] ?? 0),
  }));
}

/** All variants alike, as far as whole numbers allow. */
export function balanced(variants: readonly Variant[]): Variant[] {
  const weights = share(
    variants.map(() => 1),
    WHOLE,
    -1,
  );
  return variants.map((variant, place) => ({ ...variant, weight: weights[place] ?? 0 }));
}

/** The remaining variants keep their proportions. */
export function without(variants: readonly Variant[], index: number): Variant[] {
  const rest = variants.filter((_, place) => place !== index);
  const weights = share(
    rest.map(({ weight }) => weight),
    WHOLE,
    -1,
  );
  return rest.map((variant, place) => ({ ...variant, weight: weights[place] ?? 0 }));
}

/** Whole parts of `total` in the proportions of `parts`; what is left goes to the largest fractions. */
function share(parts: readonly number[], total: number, skipped: number): number[] {
  const members = parts.map((_, place) => place).filter((place) => place !== skipped);
  const sum = members.reduce((all, place) => all + (parts[place] ?? 0), 0);
  const exact = parts.map((part, place) => {
    if (place === skipped) return 0;
    return sum === 0 ? total / members.length : (part / sum) * total;
  });
  const whole = exact.map(Math.floor);
  let left = total - whole.reduce((all, part) => all + part, 0);
  const byFraction = [...members].sort((one, other) => fraction(exact[other]) - fraction(exact[one]));
  for (const place of byFraction) {
    if (left <= 0) break;
    whole[place] = (whole[place] ?? 0) + 1;
    left -= 1;
  }
  return whole;
}

function fraction(value: number | undefined): number {
  return value === undefined ? 0 : value - Math.floor(value);
}
