/** Bucketing: what is hashed for a flag, and which share of the hashes a percentage takes. */
import type { BucketBy, EvaluationContext, FlagDefinition, RuleDefinition } from "./definition.ts";
import { type Path, parsePath, readPath } from "./path.ts";

/** Hashes are whole numbers below this. */
export const HASHES: number = 2 ** 32;

/** A hash below it is within the percentage. All percentages cut the same line, so raising one keeps everybody in. */
export function thresholdOf(percentage: number): number {
  return Math.floor((percentage / 100) * HASHES);
}

/** Within 0.001, so that thirds can be written down: three times 33.333 is 99.999, and a little less in binary. */
export function weightsAddUp(total: number): boolean {
  return Math.abs(total - 100) < 0.001_000_001;
}

/** The upper ends of the variants' shares of the line; the last variant takes the remainder. */
export function variantThresholds(weights: readonly number[]): readonly number[] {
  let sum = 0;
  return weights.map((weight, index) => {
    sum += weight;
    return index === weights.length - 1 ? HASHES : thresholdOf(sum);
  });
}

type Hashed = Pick<FlagDefinition, "key" | "salt">;

/** What follows the id in the text whose hash decides the rollout. */
export function rolloutSuffix({ key, salt }: Hashed): string {
  return `:${salt ?? key}`;
}

/** Another hash than the rollout's, so that a growing rollout moves nobody between variants. */
export function variantSuffix(flag: Hashed): string {
  return `${rolloutSuffix(flag)}:variant`;
}

export function ruleSuffix(flag: Hashed, { salt }: Pick<RuleDefinition, "salt">): string {
  return `${rolloutSuffix(flag)}:rule:${salt}`;
}

/** The usual one is always this object. */
const BY_USER: Path = parsePath("userId");

export function bucketPath(bucketBy: BucketBy | undefined): Path {
  return bucketBy === undefined || bucketBy === "userId" ? BY_USER : parsePath(bucketBy);
}

/** All whose id is absent have the empty one, and share its bucket. */
export function bucketId(context: EvaluationContext, path: Path): string {
  const value = path === BY_USER ? context.userId : readPath(context, path);
  if (typeof value === "string") return value;
  return typeof value === "number" || typeof value === "boolean" ? String(value) : "";
}
