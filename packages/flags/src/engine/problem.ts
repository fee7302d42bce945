/** What is wrong with conditions. */

export interface ConditionProblem {
  /** What is wrong and what to do, to follow the place: `must be …`. */
  readonly problem: string;
  /** Where in the tree, such as `conditions.0.value`; empty for the tree itself. */
  readonly path: string;
  /** The limit that was passed, when it is one. */
  readonly limit?: number;
}
