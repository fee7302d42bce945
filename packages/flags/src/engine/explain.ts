/** The explanation of an evaluation: its steps, with the operands and result of each condition, hashes and thresholds. */
import type { Evaluation } from "./definition.ts";
import type { JsonObject } from "./json.ts";
import type { Path } from "./path.ts";

/** Where the value of an attribute comes from; undefined when it is not known. */
export type OriginOf = (path: Path) => string | undefined;

/** One step of an evaluation. Steps are in the order of evaluation; the last one determined the result. */
export type ExplanationStep = {
  /** What was checked. */
  readonly step: "enabled" | "override" | "rule" | "rollout" | "variant" | "default";
  /**
   * `enabled`: `enabled`, `disabled`. `override`: `applied`, `none`. `rule`: `matched`, `not_matched`,
   * `outside_percentage`, `skipped`. `rollout`: `included`, `excluded`. `variant`: the variant's key. `default`: `default`.
   */
  readonly outcome: string;
  /** The operands, hashes and thresholds of the step; of a disabled flag `source`, the field that its value is from. */
  readonly detail: JsonObject;
};

/** A result and the steps that led to it. */
export interface Explanation {
  /** The result of the evaluation. */
  readonly result: Evaluation;
  /** In the order of evaluation. */
  readonly steps: readonly ExplanationStep[];
}
