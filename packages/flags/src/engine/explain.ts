/** The explanation of an evaluation: its steps, with the operands and result of each condition, hashes and thresholds. */
import type { Evaluation } from "./definition.ts";
import type { JsonObject } from "./json.ts";

/** One step of an evaluation. Steps are in the order of evaluation; the last one determined the result. */
export type ExplanationStep = {
  readonly step: "enabled" | "override" | "rule" | "rollout" | "variant" | "default";
  /**
   * `enabled`: `enabled`, `disabled`. `override`: `applied`, `none`. `rule`: `matched`, `not_matched`,
   * `outside_percentage`, `skipped`. `rollout`: `included`, `excluded`. `variant`: the variant's key. `default`: `default`.
   */
  readonly outcome: string;
  readonly detail: JsonObject;
};

export interface Explanation {
  readonly result: Evaluation;
  readonly steps: readonly ExplanationStep[];
}
