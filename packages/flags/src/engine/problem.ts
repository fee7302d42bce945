/** The validation problem of conditions. */

/** The first problem of invalid conditions. */
export interface ConditionProblem {
  /** What is wrong and what to change, as the rest of a sentence that starts with `path`: `must be …`. */
  readonly problem: string;
  /** The path of the value in the conditions, such as `conditions.0.value`; empty for the whole. */
  readonly path: string;
  /** The limit that was exceeded, if any. */
  readonly limit?: number;
}
