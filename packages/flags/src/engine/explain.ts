/** Why an evaluation gave what it gave: each step, each condition's operands and outcome, hash, bucket and threshold. */
import type { Evaluation } from "./definition.ts";
import type { JsonObject } from "./json.ts";

/** What a step of an evaluation decided, in the order of evaluation; the last one gave the result. */
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
