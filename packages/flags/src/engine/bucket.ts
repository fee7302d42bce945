/** Bucketing: which text is hashed for a flag, and which range of hashes a percentage covers. */
import type { BucketBy, EvaluationContext, FlagDefinition, RuleDefinition } from "./definition.ts";
import { type Path, parsePath, readPath } from "./path.ts";

/** The number of hashes: a hash is an integer from 0 to 2^32 - 1. */
export const HASHES: number = 2 ** 32;

/** A hash below the threshold is within the percentage. A higher percentage therefore includes everyone a lower one does. */
export function thresholdOf(percentage: number): number {
  return Math.floor((percentage / 100) * HASHES);
}

/** Tolerates 0.001, so that thirds are accepted: 3 × 33.333 is 99.999, and slightly less in binary. */
export function weightsAddUp(total: number): boolean {
  return Math.abs(total - 100) < 0.001_000_001;
}

/** The upper threshold of each variant's range of hashes. The last variant takes the remainder. */
export function variantThresholds(weights: readonly number[]): readonly number[] {
  let sum = 0;
  return weights.map((weight, index) => {
    sum += weight;
    return index === weights.length - 1 ? HASHES : thresholdOf(sum);
  });
}

type Hashed = Pick<FlagDefinition, "key" | "salt">;

/** The text that follows the bucketing id in the input of the rollout hash. */
export function rolloutSuffix({ key, salt }: Hashed): string {
  return `:${salt ?? key}`;
}

/** Differs from the rollout's suffix, so that a growing rollout does not move users between variants. */
export function variantSuffix(flag: Hashed): string {
  return `${rolloutSuffix(flag)}:variant`;
}

export function ruleSuffix(flag: Hashed, { salt }: Pick<RuleDefinition, "salt">): string {
  return `${rolloutSuffix(flag)}:rule:${salt}`;
}

/** One object for the default path, so that `bucketId` recognises it by identity. */
const BY_USER: Path = parsePath("userId");

export function bucketPath(bucketBy: BucketBy | undefined): Path {
  return bucketBy === undefined || bucketBy === "userId" ? BY_USER : parsePath(bucketBy);
}

/** The bucketing id. A context without one uses the empty string, so all such contexts share a bucket. */
export function bucketId(context: EvaluationContext, path: Path): string {
  const value = path === BY_USER ? context.userId : readPath(context, path);
  if (typeof value === "string") return value;
  return typeof value === "number" || typeof value === "boolean" ? String(value) : "";
}
